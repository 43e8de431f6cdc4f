-- Whether the rank's program caught SIGTERM, so that its end may be the answer to one.
ALTER TABLE ranks ADD COLUMN catches_sigterm INTEGER NOT NULL DEFAULT 0;
