-- Exit codes with which a program asks to be started again.
ALTER TABLE runs ADD COLUMN retry_exits TEXT NOT NULL DEFAULT '[]';
ALTER TABLE runs ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
