-- Nodes that a run had to leave because they went to sleep, and that it does not wake.
ALTER TABLE runs ADD COLUMN leave_asleep TEXT NOT NULL DEFAULT '[]';
