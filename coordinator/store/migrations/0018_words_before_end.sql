-- How long before its end, in microseconds, a rank that failed wrote its traceback; 0: not known.
ALTER TABLE ranks ADD COLUMN words_before_end INTEGER NOT NULL DEFAULT 0;
