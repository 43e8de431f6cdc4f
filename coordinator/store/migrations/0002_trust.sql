-- Who was let in, and with what. No secret and no private key is in here.

-- Users who may reclaim and lend the PC.
ALTER TABLE nodes ADD COLUMN owners TEXT NOT NULL DEFAULT '[]';

CREATE TABLE tokens (
  id          TEXT PRIMARY KEY,
  secret_hash TEXT NOT NULL,
  role        TEXT NOT NULL,
  name        TEXT NOT NULL,
  uses_left   INTEGER NOT NULL,
  created_by  TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  revoked     INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE certificates (
  serial     TEXT PRIMARY KEY,
  role       TEXT NOT NULL,
  name       TEXT NOT NULL,
  issued_at  INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  issued_to  TEXT NOT NULL,
  revoked_at INTEGER,
  revoked_by TEXT NOT NULL,
  reason     TEXT NOT NULL
) WITHOUT ROWID;
