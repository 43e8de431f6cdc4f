-- Who holds a queued run, in words: 'held by anna'; '': it may start.
ALTER TABLE runs ADD COLUMN on_hold TEXT NOT NULL DEFAULT '';
