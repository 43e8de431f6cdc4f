-- What ran unknown to the backup has ended: its runs may start.
ALTER TABLE restores ADD COLUMN hold_over INTEGER NOT NULL DEFAULT 0;
