#!/usr/bin/env python3
"""Do metrics slow the ranks that record them?

    bench/metrics.py [--ranks 4] [--rate 1000] [--seconds 10]

Starts a coordinator and one worker per rank on this machine, and a gang of `--ranks` whose steps
each compute for 1000 * ranks / rate milliseconds of this PC's clock: together they record `--rate`
points a second. Blocks of steps with hpc.log() alternate with blocks that do not record; the same
script is then run without hpcctl's daemons, writing to a plain file that nobody reads.

    cost of recording   median time of a block that records / of the block beside it, in the gang
    the same, no reader the same ratio where nothing reads the file: what the write itself costs
    stored              points that `hpcctl metrics` gives back / points recorded

Steps wait rather than compute, but for hpc.log() itself: the ratio tells what recording adds to a
step, and does not depend on how many cores the ranks share.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.cluster import Cluster  # noqa: E402

STEPS = """
import json, os, sys, time
import hpc
period, blocks, steps = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
spent = {True: [], False: []}
step = 0
for block in range(2 * blocks):
    record = block % 2 == 0
    begin = time.perf_counter()
    for _ in range(steps):
        time.sleep(period)
        if record:
            hpc.log(step=step, loss=1.0 / (step + 1))
        step += 1
    spent[record].append(time.perf_counter() - begin)
print(json.dumps([spent[True], spent[False]]), flush=True)
"""


def ratio(line):
    recording, quiet = json.loads(line)
    return statistics.median(a / b for a, b in zip(recording, quiet))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rate", type=float, default=1000, help="points a second, of all ranks")
    parser.add_argument("--seconds", type=float, default=10, help="how long points are recorded")
    args = parser.parse_args()
    period = args.ranks / args.rate
    steps = max(1, round(0.5 / period))  # makes blocks of half a second
    blocks = max(1, round(args.seconds / 0.5))
    words = [str(period), str(blocks), str(steps)]

    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "steps.py"
        script.write_text(STEPS)
        env = {**os.environ, "PYTHONPATH": str(ROOT / "worker/python"),
               "HPC_METRICS_FILE": str(pathlib.Path(folder) / "metrics")}
        alone = subprocess.run([sys.executable, script, *words], env=env, check=True,
                               capture_output=True, text=True)
        with Cluster(nodes=args.ranks) as cluster:
            # The ranks' account can read it there.
            script = cluster.script("steps.py", STEPS)
            run = cluster.submit("-N", args.ranks, "--", sys.executable, script, *words)
            cluster.wait_state(run, "succeeded", timeout=60 + 4 * args.seconds)
            lines = cluster.hpcctl("logs", run).stdout.splitlines()
            stored = len(cluster.json("metrics", run))
    ratios = [ratio(line[line.index("["):].split("] ", 1)[-1]) for line in lines if "[[" in line]
    print(f"cost of recording    {statistics.median(ratios):.3f}  "
          f"(ranks: {', '.join(f'{r:.3f}' for r in ratios)})")
    print(f"the same, no reader  {ratio(alone.stdout):.3f}")
    print(f"stored               {stored}/{args.ranks * blocks * steps}")


if __name__ == "__main__":
    main()
