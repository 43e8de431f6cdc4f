-- What the coordinator keeps. docs/STORAGE.md explains every table and column.
--
-- Times are microseconds since 1970 UTC, durations microseconds; NULL where it has not happened or
-- does not apply. States and outcomes are words. Lists and maps are JSON text.
-- Foreign keys are checked at commit, so that the records of a batch may come in any order.

CREATE TABLE experiments (
  name       TEXT PRIMARY KEY,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE runs (
  id               INTEGER PRIMARY KEY,
  name             TEXT NOT NULL,
  experiment       TEXT NOT NULL REFERENCES experiments DEFERRABLE INITIALLY DEFERRED,
  user             TEXT NOT NULL,
  state            TEXT NOT NULL,
  reason           TEXT NOT NULL,
  attempts         INTEGER NOT NULL,
  failures         INTEGER NOT NULL,
  losses           INTEGER NOT NULL,
  exit_code        INTEGER NOT NULL,
  cancel_requested INTEGER NOT NULL,
  submitted_at     INTEGER NOT NULL,
  started_at       INTEGER,
  ended_at         INTEGER,
  min_nodes        INTEGER NOT NULL,
  max_nodes        INTEGER NOT NULL,
  ranks_per_node   INTEGER NOT NULL,
  gpus_per_node    INTEGER,
  node_list        TEXT NOT NULL,
  exclude          TEXT NOT NULL,
  priority         INTEGER NOT NULL,
  after_run        INTEGER REFERENCES runs DEFERRABLE INITIALLY DEFERRED,
  time_limit       INTEGER,
  max_restarts     INTEGER NOT NULL,
  mode             TEXT NOT NULL,
  store_host       TEXT NOT NULL,
  stop_grace       INTEGER
);
CREATE INDEX runs_by_state ON runs (state, id);
CREATE INDEX runs_by_experiment ON runs (experiment, id);

-- What a run executes, and the code it came from. The large columns come last: a listing reads only
-- the first ones.
CREATE TABLE programs (
  run               INTEGER PRIMARY KEY REFERENCES runs DEFERRABLE INITIALLY DEFERRED,
  command           TEXT NOT NULL,
  workdir           TEXT NOT NULL,
  request_id        TEXT,
  submit_host       TEXT NOT NULL,
  legacy_local_rank TEXT NOT NULL,
  repository        TEXT NOT NULL,
  commit_id         TEXT NOT NULL,
  branch            TEXT NOT NULL,
  dirty             INTEGER NOT NULL,
  diff_cut          INTEGER NOT NULL,
  env               TEXT NOT NULL,
  diff              TEXT NOT NULL
);
CREATE UNIQUE INDEX programs_by_request ON programs (request_id) WHERE request_id IS NOT NULL;

CREATE TABLE run_params (
  run      INTEGER NOT NULL REFERENCES runs DEFERRABLE INITIALLY DEFERRED,
  position INTEGER NOT NULL,
  key      TEXT NOT NULL,
  value    TEXT NOT NULL,
  PRIMARY KEY (run, position)
) WITHOUT ROWID;

CREATE TABLE run_tags (
  run      INTEGER NOT NULL REFERENCES runs DEFERRABLE INITIALLY DEFERRED,
  position INTEGER NOT NULL,
  tag      TEXT NOT NULL,
  PRIMARY KEY (run, position)
) WITHOUT ROWID;
CREATE INDEX run_tags_by_tag ON run_tags (tag, run);

CREATE TABLE nodes (
  name             TEXT PRIMARY KEY,
  address          TEXT NOT NULL,
  power            TEXT NOT NULL,
  reason           TEXT NOT NULL,
  reclaimed        INTEGER NOT NULL,
  reclaimed_until  INTEGER,
  reclaim_reason   TEXT NOT NULL,
  boot_id          TEXT NOT NULL,
  first_seen       INTEGER NOT NULL,
  last_seen        INTEGER NOT NULL,
  hostname         TEXT NOT NULL,
  os               TEXT NOT NULL,
  kernel           TEXT NOT NULL,
  driver           TEXT NOT NULL,
  worker_version   TEXT NOT NULL,
  cores            INTEGER NOT NULL,
  memory_bytes     INTEGER NOT NULL,
  can_wake_by_hook INTEGER NOT NULL,
  devices          TEXT NOT NULL,
  disks            TEXT NOT NULL,
  interfaces       TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE attempts (
  run              INTEGER NOT NULL REFERENCES runs DEFERRABLE INITIALLY DEFERRED,
  number           INTEGER NOT NULL,
  state            TEXT NOT NULL,
  outcome          TEXT,
  reason           TEXT NOT NULL,
  placement_reason TEXT NOT NULL,
  world_size       INTEGER NOT NULL,
  master_addr      TEXT NOT NULL,
  master_port      INTEGER NOT NULL,
  store_host       TEXT NOT NULL,
  created_at       INTEGER NOT NULL,
  started_at       INTEGER,
  ended_at         INTEGER,
  PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE TABLE placements (
  run        INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  node       TEXT NOT NULL REFERENCES nodes DEFERRABLE INITIALLY DEFERRED,
  node_rank  INTEGER NOT NULL,
  address    TEXT NOT NULL,
  devices    TEXT NOT NULL,
  first_rank INTEGER NOT NULL,
  ranks      INTEGER NOT NULL,
  returned   INTEGER NOT NULL,
  PRIMARY KEY (run, attempt, node),
  FOREIGN KEY (run, attempt) REFERENCES attempts (run, number) DEFERRABLE INITIALLY DEFERRED
) WITHOUT ROWID;

CREATE TABLE ranks (
  run        INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  rank       INTEGER NOT NULL,
  local_rank INTEGER NOT NULL,
  node       TEXT NOT NULL,
  devices    TEXT NOT NULL,
  pid        INTEGER NOT NULL,
  started_at INTEGER,
  ended_at   INTEGER,
  exit_code  INTEGER,
  signal     INTEGER,
  after_stop INTEGER,  -- NULL until the rank has ended
  message    TEXT NOT NULL,
  traceback  TEXT NOT NULL,
  PRIMARY KEY (run, attempt, rank),
  FOREIGN KEY (run, attempt) REFERENCES attempts (run, number) DEFERRABLE INITIALLY DEFERRED
) WITHOUT ROWID;

CREATE TABLE environments (
  run     INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  node    TEXT NOT NULL,
  facts   TEXT NOT NULL,
  added   TEXT NOT NULL,
  PRIMARY KEY (run, attempt, node),
  FOREIGN KEY (run, attempt) REFERENCES attempts (run, number) DEFERRABLE INITIALLY DEFERRED
) WITHOUT ROWID;

CREATE TABLE events (
  id       INTEGER PRIMARY KEY,
  at       INTEGER NOT NULL,
  severity TEXT NOT NULL,
  kind     TEXT NOT NULL,
  run      INTEGER,
  attempt  INTEGER,
  node     TEXT,
  rank     INTEGER,
  text     TEXT NOT NULL
);
CREATE INDEX events_by_run ON events (run, id) WHERE run IS NOT NULL;
CREATE INDEX events_by_node ON events (node, id) WHERE node IS NOT NULL;

-- One row for each key of a run, with what a summary shows, so that no summary reads the points.
CREATE TABLE metric_keys (
  id        INTEGER PRIMARY KEY,
  run       INTEGER NOT NULL REFERENCES runs DEFERRABLE INITIALLY DEFERRED,
  key       TEXT NOT NULL,
  points    INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  last      REAL,  -- NULL is NaN
  min       REAL,  -- NULL: no point but NaN
  max       REAL,
  UNIQUE (run, key)
);

-- Points lie together by run, in the order in which they were stored; `row` counts them from 1.
CREATE TABLE metrics (
  run     INTEGER NOT NULL,
  row     INTEGER NOT NULL,
  key     INTEGER NOT NULL,  -- metric_keys.id
  attempt INTEGER NOT NULL,
  rank    INTEGER NOT NULL,
  step    INTEGER NOT NULL,
  value   REAL,              -- NULL is NaN
  at      INTEGER NOT NULL,
  PRIMARY KEY (run, row)
) WITHOUT ROWID;
CREATE INDEX metrics_by_key ON metrics (key, row);

CREATE TABLE metric_offsets (
  run     INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  rank    INTEGER NOT NULL,
  offset  INTEGER NOT NULL,
  PRIMARY KEY (run, attempt, rank),
  FOREIGN KEY (run, attempt) REFERENCES attempts (run, number) DEFERRABLE INITIALLY DEFERRED
) WITHOUT ROWID;

CREATE TABLE log_segments (
  run            INTEGER NOT NULL REFERENCES runs DEFERRABLE INITIALLY DEFERRED,
  first_position INTEGER NOT NULL,
  bytes          INTEGER NOT NULL,
  stored_bytes   INTEGER NOT NULL,
  sealed         INTEGER NOT NULL,
  PRIMARY KEY (run, first_position)
) WITHOUT ROWID;

CREATE TABLE log_streams (
  run       INTEGER NOT NULL,
  attempt   INTEGER NOT NULL,
  rank      INTEGER NOT NULL,
  stream    TEXT NOT NULL,  -- stdout or stderr
  bytes     INTEGER NOT NULL,
  cut_bytes INTEGER NOT NULL,
  PRIMARY KEY (run, attempt, rank, stream),
  FOREIGN KEY (run, attempt) REFERENCES attempts (run, number) DEFERRABLE INITIALLY DEFERRED
) WITHOUT ROWID;

-- For people. Nothing in the coordinator reads these.

CREATE VIEW run_overview AS
SELECT
  r.id AS run,
  r.name,
  r.experiment,
  r.state,
  r.reason,
  r.exit_code,
  r.attempts,
  (SELECT group_concat(node, ', ')
     FROM (SELECT p.node FROM placements AS p
            WHERE p.run = r.id AND p.attempt = r.attempts ORDER BY p.node_rank)) AS nodes,
  datetime(r.submitted_at / 1000000, 'unixepoch', 'localtime') AS submitted,
  datetime(r.started_at / 1000000, 'unixepoch', 'localtime') AS started,
  datetime(r.ended_at / 1000000, 'unixepoch', 'localtime') AS ended,
  (r.ended_at - r.started_at) / 1e6 AS seconds,
  (SELECT group_concat(value, ' ') FROM json_each(p.command)) AS command
FROM runs AS r LEFT JOIN programs AS p ON p.run = r.id;

CREATE VIEW metric_points AS
SELECT m.run, k.key, m.attempt, m.rank, m.step, m.value, m.at, m.row
FROM metrics AS m JOIN metric_keys AS k ON k.id = m.key;

CREATE VIEW event_log AS
SELECT
  id,
  strftime('%Y-%m-%d %H:%M:%f', at / 1e6, 'unixepoch', 'localtime') AS time,
  severity, kind, run, attempt, node, rank, text
FROM events;
