#!/usr/bin/env python3
"""How soon do all PCs come back after a restart of the coordinator?

    bench/reconnect.py [--nodes 1000] [--times 3]

Joins that many workers, all real processes on this machine, kills the coordinator (kill -9), starts
it again half a minute later, and waits.

    all back     from the start of the new process until it says that every worker is connected
    it spent     CPU time of the coordinator until then: on a master of its own, this is the limit
    memory       of the coordinator with all connected, proportional set size
    a worker     the mean of ten of them at rest, proportional set size: the programs' own pages are
                 shared by all here, so alone on a PC one needs more (bench/memory.py)
"""

import argparse
import concurrent.futures
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.cluster import Cluster  # noqa: E402
from harness.process import eventually  # noqa: E402
from measure.process import cpu_seconds, memory_mb  # noqa: E402


def connected(cluster):
    return cluster.json("status")["nodes_connected"]


def grow(cluster, nodes):
    """All at once would only queue: as many at a time as there are processors."""
    cluster.names = [f"pc{i}" for i in range(1, nodes + 1)]
    token = cluster.make_token("--uses", nodes)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        def bring(name):
            cluster.join(name, token)
            cluster.start_worker(name)
        list(pool.map(bring, cluster.names))
    eventually(lambda: connected(cluster) == nodes, f"{nodes} are connected", 300)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--times", type=int, default=3)
    args = parser.parse_args()
    spent, cpu = [], []
    with Cluster(nodes=0) as cluster:
        grow(cluster, args.nodes)
        for _ in range(args.times):
            cluster.coordinator.kill()
            time.sleep(30)  # by now every worker is at its longest pause between two tries
            begin = time.monotonic()
            cluster.start_coordinator()
            while connected(cluster) < args.nodes:
                time.sleep(0.2)  # it costs the machine that is measured
            spent.append(time.monotonic() - begin)
            cpu.append(cpu_seconds(cluster.coordinator.pid))
        time.sleep(10)
        memory = memory_mb(cluster.coordinator.pid)[0]
        workers = [memory_mb(worker.pid)[0] for worker in list(cluster.workers.values())[:10]]
    print(f"all {args.nodes} back  {statistics.median(spent):.2f} s (of {args.times}: "
          f"{min(spent):.2f} to {max(spent):.2f})")
    print(f"it spent       {statistics.median(cpu):.2f} s of CPU time")
    print(f"memory         {memory:.1f} MB")
    print(f"a worker       {statistics.mean(workers):.1f} MB")


if __name__ == "__main__":
    main()
