#!/usr/bin/env python3
"""Does a gang get through everything that can die around it, and how long does it stand still?

    bench/kills.py [--kills 1000] [--seed N] [--lease 6]

Runs a job of -N 2:4 --grow checkpoint on four PCs, each a network namespace on a bridge (needs root;
without it no cable is pulled and no power lost). Its ranks count steps and record each as a metric,
as a line of output, and in a file that no daemon knows. Meanwhile accidents happen at random moments,
one to three at a time, and people submit and cancel other runs. After each round every promise is
checked against what the ranks wrote down, and at the end once more; the first that is broken ends the
program with exit code 1, the seed, and what the daemons said.

    kills          how often each accident happened
    ran on         of those that were alone: how often no rank was stopped for it
    median, worst  of the others: from the accident to the first line that the last rank of the next
                   gang executes. Where a PC is away for a while that time is in it
    lost           acknowledged submissions, cancels, reclaims, events, metric points and lines of
                   output that were not there later, or twice; starts of a rank that happened twice
    orphans        processes of ranks that outlived their attempt
    restart        of a killed coordinator: from its start until hpcctl has had an answer
"""

import argparse
import pathlib
import random
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.campaign import run_campaign  # noqa: E402


def show(campaign, seconds):
    print(f"{'':34} kills  ran on  median   worst")
    for kind, kills in sorted(campaign.kills.items(), key=lambda item: -item[1]):
        took = campaign.again[kind]
        times = f"{statistics.median(took):5.2f} s {max(took):5.2f} s" if took else ""
        print(f"{kind:34} {kills:5}  {campaign.ran_on[kind]:6}  {times}")
    back = campaign.accidents.coordinator_back
    counts = campaign.acknowledged.counts()
    print(f"{'all':34} {campaign.kills.total():5}  in {seconds / 60:.0f} min, "
          f"{campaign.attempts_in_all} attempts")
    print(f"checked        {', '.join(f'{count} {what}' for what, count in counts.items())}")
    print("lost           0")
    print("orphans        0")
    if back:
        print(f"restart        median {statistics.median(back):.2f} s, worst {max(back):.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--lease", type=float, default=6)
    args = parser.parse_args()
    print(f"--seed {args.seed}", flush=True)
    begin = time.monotonic()
    try:
        campaign = run_campaign(args.kills, args.seed, args.lease, progress=lambda kills: print(
            f"\r{kills} kills ", end="", file=sys.stderr, flush=True))
    except AssertionError as error:
        sys.exit(f"\n{error}")
    print(file=sys.stderr)
    show(campaign, time.monotonic() - begin)


if __name__ == "__main__":
    main()
