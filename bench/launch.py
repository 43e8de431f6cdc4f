#!/usr/bin/env python3
"""What does mutual TLS cost a gang's launch?

    bench/launch.py [--nodes 4] [--times 40]

Starts two clusters on this machine, one with certificates and one of plain text (--insecure), and
runs `hpcctl run -N <nodes> -- true` on each in turn, by TCP.

    launch with TLS        median wall time of the command, from its start to its exit
    launch in plain text   the same
    TLS costs              the median of the differences of neighbours
    ratio                  TLS / plain text, of the medians
    by the Unix socket     of the cluster with certificates; nothing there is encrypted for the client
"""

import argparse
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.cluster import Cluster  # noqa: E402


class PlainCluster(Cluster):
    """Without certificates, as --insecure allows on loopback."""

    def __init__(self, **options):
        super().__init__(coordinator_args=["--insecure"], **options)

    def make_authority(self):
        pass

    def make_token(self, *_):
        return ""

    def join(self, *_):
        pass

    def start_worker(self, name, **options):
        self.worker_env[name] = {"HPC_WORKER_COORDINATOR": self.listen,
                                 "HPC_WORKER_INSECURE": "1", "HPC_WORKER_NAME": name}
        return super().start_worker(name, **options)


def launch(cluster, nodes, env):
    begin = time.perf_counter()
    cluster.hpcctl("run", "-N", nodes, "--", "true", env=env)
    return 1000 * (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--times", type=int, default=40)
    args = parser.parse_args()
    with Cluster(nodes=args.nodes) as tls, PlainCluster(nodes=args.nodes) as plain:
        ways = {"tls": (tls, {"HPC_COORDINATOR": tls.listen}),
                "plain": (plain, {"HPC_COORDINATOR": plain.listen, "HPC_INSECURE": "1"}),
                "socket": (tls, {})}
        spent = {way: [] for way in ways}
        for turn in range(args.times + 2):
            for way, (cluster, env) in ways.items():
                took = launch(cluster, args.nodes, env)
                if turn >= 2:  # the first turns also read and compile files, so they do not count
                    spent[way].append(took)
    median = {way: statistics.median(times) for way, times in spent.items()}
    cost = statistics.median(a - b for a, b in zip(spent["tls"], spent["plain"]))
    print(f"launch with TLS       {median['tls']:.1f} ms")
    print(f"launch in plain text  {median['plain']:.1f} ms")
    print(f"TLS costs             {cost:.1f} ms")
    print(f"ratio                 {median['tls'] / median['plain']:.2f}")
    print(f"by the Unix socket    {median['socket']:.1f} ms")


if __name__ == "__main__":
    main()
