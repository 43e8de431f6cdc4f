-- What the wall clock showed when this boot's CLOCK_BOOTTIME was zero, as all times were last written
-- by. If somebody sets the clock, times that were written before are corrected by the difference.
CREATE TABLE clock (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  boot_id TEXT NOT NULL,
  zero    INTEGER NOT NULL  -- microseconds since 1970
);
