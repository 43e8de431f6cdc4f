-- Whether a run was held from the beginning.
ALTER TABLE runs ADD COLUMN hold INTEGER NOT NULL DEFAULT 0;
