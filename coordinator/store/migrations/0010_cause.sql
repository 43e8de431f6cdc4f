-- What is known of why an attempt ends, so that a coordinator that is started again judges alike.
ALTER TABLE attempts ADD COLUMN caused_from INTEGER;
ALTER TABLE attempts ADD COLUMN caused_until INTEGER;
ALTER TABLE attempts ADD COLUMN exit_code INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN free_of_charge INTEGER NOT NULL DEFAULT 0;
