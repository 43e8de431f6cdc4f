#!/usr/bin/env python3
"""How soon do all PCs come back after a restart of the coordinator?

    bench/reconnect.py [--nodes 1000] [--times 3]

Simulates that many nodes in one process (bench/simulator), each with a certificate and a
connection of its own and the times of a worker between two tries. Kills the coordinator (kill -9),
starts it again half a minute later, and waits.

    all back     from the start of the new process until every node has been welcomed
    it spent     CPU time of the coordinator until then: on a master of its own, this is the limit
    they spent   CPU time of the simulator meanwhile; each PC has its own processor for its part
    memory       of the coordinator with all connected, as if nothing else ran its program
"""

import argparse
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from measure.process import cpu_seconds, memory_alone_mb  # noqa: E402
from systems.simulated import SimulatedCluster, why_not  # noqa: E402


def come_back(cluster, times):
    """One restart: seconds, CPU seconds of the coordinator, and of the nodes."""
    cluster.coordinator.kill()
    time.sleep(30)  # after that every node is at its longest pause between two tries
    nodes = cpu_seconds(cluster.simulator.pid)
    begin = time.monotonic()
    cluster.start_coordinator()
    cluster.wait_connected(times)
    cpu = cpu_seconds(cluster.coordinator.pid)
    return cluster.times_connected()[-1] - begin, cpu, cpu_seconds(cluster.simulator.pid) - nodes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--times", type=int, default=3)
    args = parser.parse_args()
    if why := why_not():
        parser.error(why)
    with SimulatedCluster(args.nodes, within="10s") as cluster:
        taken = [come_back(cluster, 2 + i) for i in range(args.times)]
        time.sleep(10)
        memory = memory_alone_mb(cluster.coordinator.pid)
    spent, cpu, nodes = zip(*taken)
    print(f"all {args.nodes} back  {statistics.median(spent):.2f} s (of {args.times}: "
          f"{min(spent):.2f} to {max(spent):.2f})")
    print(f"it spent       {statistics.median(cpu):.2f} s of CPU time")
    print(f"they spent     {statistics.median(nodes):.2f} s of CPU time")
    print(f"memory         {memory:.1f} MB")


if __name__ == "__main__":
    main()
