-- Nodes that cannot run a run which has run elsewhere.
ALTER TABLE runs ADD COLUMN refused_by TEXT NOT NULL DEFAULT '[]';
