-- What a backup that was restored cannot know: the numbers that were given out after it was made.
CREATE TABLE restores (
  at            INTEGER PRIMARY KEY,
  made_at       INTEGER NOT NULL,  -- the backup
  known_run     INTEGER NOT NULL,  -- the newest run in it
  taken_run     INTEGER NOT NULL,  -- numbers up to these are not used again
  taken_attempt INTEGER NOT NULL,  -- of runs up to known_run
  taken_event   INTEGER NOT NULL
);
