#!/usr/bin/env python3
"""How much memory do the daemons take of a PC that does nothing?

    bench/memory.py

Starts a coordinator and one worker with certificates, lets one gang run and end, waits ten seconds,
and reads the proportional set size (PSS) of each: its own memory, and its share of the pages that it
has in common with other processes.

    worker        PSS, and of it what is no page of a file (anonymous)
    coordinator   the same
"""

import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.cluster import Cluster  # noqa: E402
from measure.process import memory_mb  # noqa: E402


def main():
    if len(sys.argv) > 1:
        print(__doc__)
        return
    with Cluster(nodes=1) as cluster:
        cluster.hpcctl("run", "--", "true")
        time.sleep(10)
        for name, process in (("worker", cluster.workers["pc1"]),
                              ("coordinator", cluster.coordinator)):
            total, anonymous = memory_mb(process.pid)
            print(f"{name:12}  {total:.1f} MB, {anonymous:.1f} of it anonymous")


if __name__ == "__main__":
    main()
