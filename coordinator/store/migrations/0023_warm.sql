-- Whether the ranks of a run may be copies of a process that has imported their modules.
ALTER TABLE programs ADD COLUMN warm TEXT NOT NULL DEFAULT 'auto';
