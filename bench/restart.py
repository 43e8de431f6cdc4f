#!/usr/bin/env python3
"""How soon does a killed coordinator answer again that has thousands of runs in its database?

    bench/restart.py [--runs 10000] [--times 20]

Queues that many runs behind one that does not end, kills the coordinator (kill -9), starts it at
once, and asks it with hpcctl; then lets all of them end and does the same again.

    queued   from the kill to the answer, with all runs waiting: median (of how many: best to worst)
    over     the same, with all runs over
    CPU      of it, processor time of the coordinator until it says that it is ready
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.cluster import Cluster  # noqa: E402
from harness.process import eventually  # noqa: E402
from measure.process import cpu_seconds  # noqa: E402


def measure(cluster, times):
    spent, cpu = [], []
    for _ in range(times):
        begin = time.monotonic()
        cluster.restart_coordinator()
        cpu.append(cpu_seconds(cluster.coordinator.pid))
        cluster.hpcctl("status")
        spent.append(time.monotonic() - begin)
    return (f"{statistics.median(spent):.3f} s (of {times}: {min(spent):.3f} to "
            f"{max(spent):.3f}), CPU {statistics.median(cpu):.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--times", type=int, default=20)
    args = parser.parse_args()
    with Cluster(nodes=1, coordinator_args=("--runs-per-user", args.runs + 1)) as cluster:
        first = cluster.submit("--", "sleep", 100000)
        line = json.dumps({"command": ["true"], "after": first, "params": {"lr": "0.1"}}) + "\n"
        cluster.hpcctl("submit", "-", stdin=line * args.runs, timeout=600)
        print(f"queued   {measure(cluster, args.times)}", flush=True)
        cluster.hpcctl("cancel", first)
        eventually(lambda: cluster.json("status")["queued"] == 0, "all runs are over", 600)
        assert cluster.json("status")["last_run"] == args.runs + 1
        print(f"over     {measure(cluster, args.times)}")


if __name__ == "__main__":
    main()
