-- The signal by which the ranks of a run are told to end.
ALTER TABLE programs ADD COLUMN stop_signal TEXT NOT NULL DEFAULT 'auto';
