-- Why a node cannot be put to sleep, in words; '': nothing is known to be in the way.
ALTER TABLE nodes ADD COLUMN sleep_trouble TEXT NOT NULL DEFAULT '';
