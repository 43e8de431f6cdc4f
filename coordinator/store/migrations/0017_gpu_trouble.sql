-- Why the GPUs that a PC seems to have cannot be used.
ALTER TABLE nodes ADD COLUMN gpu_trouble TEXT NOT NULL DEFAULT '';
