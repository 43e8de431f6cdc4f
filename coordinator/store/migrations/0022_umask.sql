-- The permissions that new files of a run's ranks lack: 18 is 022.
ALTER TABLE programs ADD COLUMN umask INTEGER NOT NULL DEFAULT 18;
