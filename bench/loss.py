#!/usr/bin/env python3
"""How soon does a gang run on a spare after it has lost a node?

    bench/loss.py [--times 5] [--nodes 4]

Needs root: each PC is a network namespace. A gang runs on all PCs but one. A node of it is lost, and
the time is taken until the last rank of the next attempt has executed its first instruction (of a
shell script, so that the start of an interpreter is not counted). Each rank leaves a trace of being
alive 50 times a second: none of the old attempt may be newer than the first of the new one.

    a cable is pulled      at the switch; nothing is said, and nothing is closed
    a worker is killed     kill -9, and it is not started again: its connection is reset, its ranks live
                           on under their supervisor until they are fenced
    a PC is reset          kill -9 of everything on it, then its worker starts with a new boot id 0.5 s
                           later, as the fastest of PCs might
"""

import argparse
import contextlib
import os
import pathlib
import signal
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.beats import Beats  # noqa: E402
from harness.cluster import Cluster  # noqa: E402
from harness.network import Network  # noqa: E402
from harness.process import eventually  # noqa: E402


def pull(cluster, lost):
    cluster.network.cable(lost, up=False)


def plug(cluster, lost):
    cluster.network.cable(lost, up=True)


def kill_worker(cluster, lost):
    cluster.workers[lost].kill()


def start_worker(cluster, lost):
    cluster.start_worker(lost)


def reset(cluster, lost):
    for pid in cluster.network.pids(lost):
        with contextlib.suppress(ProcessLookupError):  # it may have ended together with another one
            os.kill(pid, signal.SIGKILL)
    cluster.workers[lost].popen.wait()
    time.sleep(0.5)
    cluster.start_worker(lost, new_boot=True)


def nothing(cluster, lost):
    del cluster, lost


LOSSES = {"a cable is pulled": (pull, plug), "a worker is killed": (kill_worker, start_worker),
          "a PC is reset": (reset, nothing)}


def all_idle(cluster):
    return all(node["state"] == "idle" for node in cluster.json("nodes"))


def measure(cluster, lose, mend):
    eventually(lambda: all_idle(cluster), "all PCs are idle", 60)
    beats = Beats(cluster, len(cluster.names) - 1)
    lost = beats.where()[-1]
    time.sleep(2 * (os.urandom(1)[0] / 256))  # a moment anywhere between two heartbeats
    since = time.time()
    lose(cluster, lost)
    took = beats.wait_began(1) - since
    overlap = beats.last_alive(0) >= beats.first_began(1)
    mend(cluster, lost)
    beats.end()
    return took, overlap


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=4)
    args = parser.parse_args()
    why = Network.available()
    if why:
        sys.exit(why)
    with Cluster(nodes=args.nodes, network=True) as cluster:
        for name, (lose, mend) in LOSSES.items():
            results = [measure(cluster, lose, mend) for _ in range(args.times)]
            times = [took for took, _ in results]
            overlaps = sum(overlap for _, overlap in results)
            print(f"{name:<22} median {statistics.median(times):.2f} s, most {max(times):.2f} s, "
                  f"ranks of both attempts at once: {overlaps} of {args.times}", flush=True)


if __name__ == "__main__":
    main()
