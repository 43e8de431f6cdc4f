-- All that may be why an attempt ends, so that a coordinator that is started again judges alike.
ALTER TABLE attempts ADD COLUMN causes TEXT NOT NULL DEFAULT '[]';
