-- When a run that has fewer nodes than it may have is started again on more.
ALTER TABLE runs ADD COLUMN grow TEXT NOT NULL DEFAULT 'checkpoint';
