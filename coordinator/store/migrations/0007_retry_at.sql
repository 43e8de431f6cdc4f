-- A run in back-off is not started again before then.
ALTER TABLE runs ADD COLUMN retry_at INTEGER;
