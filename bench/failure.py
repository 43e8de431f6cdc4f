#!/usr/bin/env python3
"""When one rank fails, how long do the others go on?

    bench/failure.py [--nodes 4] [--times 40]

Runs a gang of one rank on each PC, none of which waits for another; one of them, another each time,
exits with 3.

    all stopped   from the exit of that rank until the last process of the gang is gone: median
                  (of how many: best to worst)
    named         how often hpcctl said that this rank was the first to fail
"""

import argparse
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.cluster import Cluster  # noqa: E402
from harness.process import eventually  # noqa: E402

RANK = """
import os, sys, time
folder, failing = sys.argv[1:]
rank = os.environ["RANK"]
with open(f"{folder}/{rank}.part", "w") as file:
    file.write(str(os.getpid()))
os.rename(file.name, f"{folder}/{rank}.pid")
while rank != failing or not os.path.exists(f"{folder}/go"):
    time.sleep(0.01)
with open(f"{folder}/failed", "w") as file:
    file.write(str(time.monotonic()))
os._exit(3)
"""


def alive(pid):
    try:
        return ") Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def fail(cluster, script, nodes, turn):
    """Returns (seconds until all are gone, whether the right rank was named)."""
    failing = turn % nodes
    folder = cluster.dir / f"turn{turn}"
    folder.mkdir()
    folder.chmod(0o777)
    client = cluster.start("run", "-N", nodes, "--", "python3", "-S", script, folder, failing)
    files = [folder / f"{rank}.pid" for rank in range(nodes)]
    eventually(lambda: all(file.exists() for file in files), "the gang runs")
    pids = [int(file.read_text()) for file in files]
    time.sleep(0.2)
    (folder / "go").touch()
    while any(alive(pid) for pid in pids):
        time.sleep(0.001)
    gone = time.monotonic()
    if client.wait() != 3:
        sys.exit(f"hpcctl run did not exit with 3: {client.output()}")
    return (gone - float((folder / "failed").read_text()), f"rank {failing} " in client.output())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--times", type=int, default=40)
    args = parser.parse_args()
    with Cluster(nodes=args.nodes) as cluster:
        script = cluster.script("rank.py", RANK)
        results = [fail(cluster, script, args.nodes, turn) for turn in range(args.times)]
    spent = [seconds for seconds, _ in results]
    print(f"all stopped   {statistics.median(spent):.3f} s (of {args.times}: {min(spent):.3f} to "
          f"{max(spent):.3f})")
    print(f"named         {sum(named for _, named in results)} of {args.times}")


if __name__ == "__main__":
    main()
