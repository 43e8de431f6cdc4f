#!/usr/bin/env python3
"""How fast is hpcctl beside Slurm, HyperQueue and torchrun on this machine?

    bench/run.sh [--quick] [--only FIGURES] [--out FOLDER]

bench/run.sh installs what this needs and starts it. Needs root. Writes RESULTS.md, results.svg and
results.json into the folder (default: bench, with --quick build/bench); docs/METRICS.md defines the
figures.
"""

import argparse
import importlib
import os
import pathlib
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness import account  # noqa: E402
from harness.cluster import BIN, PYTHON  # noqa: E402
from measure import cpu, machine, report  # noqa: E402
from measure.command import Command  # noqa: E402
from measure.scale import Scale  # noqa: E402
from systems import hpcctl, hyperqueue, simulated, slurm, torchrun  # noqa: E402

FIGURES = ("launch", "rate", "submission", "queue", "history", "logs", "points", "rest", "nodes",
           "loss", "restart", "training")
PEERS = {"Slurm": slurm, "HyperQueue": hyperqueue, "torchrun": torchrun}


def end(number, _):
    """The first signal ends it; what it started is then stopped, which a second does not hinder."""
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


def prepare(chosen):
    for peer, system in PEERS.items():
        if why := system.why_not():
            sys.exit(f"compare.py: no {peer}: {why}. bench/run.sh, as root, installs what is missing.")
    if not (BIN / "hpcctl").exists():
        sys.exit(f"compare.py: no hpcctl in {BIN}: build it, or name its folder in HPC_BIN.")
    if "nodes" in chosen and (why := simulated.why_not()):
        sys.exit(f"compare.py: {why}")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    # The account that runs ranks must be able to reach all of it, even if it lies in root's home.
    account.open_way(ROOT, BIN, sys.prefix,
                     *(pathlib.Path(python).parent.parent for python in (PYTHON, hyperqueue.PYTHON)))
    os.chdir("/")  # every account may work there


def main():
    parser = argparse.ArgumentParser(prog="bench/run.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true",
                        help="few samples of everything, no time is judged")
    parser.add_argument("--only", metavar="FIGURES", default=",".join(FIGURES),
                        help=f"of {','.join(FIGURES)}")
    parser.add_argument("--out", type=pathlib.Path, help="folder to write into")
    args = parser.parse_args()
    chosen = args.only.split(",")
    if unknown := set(chosen) - set(FIGURES):
        parser.error(f"no such figures: {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    out = (args.out or ROOT / ("build/bench" if args.quick else "bench")).absolute()
    prepare(chosen)
    about = machine.describe()
    versions = [hpcctl.Hpcctl.version(), slurm.Slurm.version(), hyperqueue.HyperQueue.version(),
                torchrun.Torchrun.version()]
    figures = []
    for name in chosen:
        print(f"measuring {name} ({time.strftime('%H:%M:%S')})", file=sys.stderr, flush=True)
        taken = importlib.import_module(f"figures.{name}").measure(Scale(args.quick))
        report.check_defined(taken)
        figures += taken
        print(report.table(taken, judged=not args.quick), flush=True)
        # The report is written after each figure, so that an interrupted run keeps what it has.
        report.write(out, figures, about, versions, cpu.way(), judged=not args.quick)
    print(f"written to {out}/RESULTS.md", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    finally:
        Command.kill_all()
