#!/usr/bin/env python3
"""What share of a training's time does a checkpoint after each 100 steps cost?

    bench/checkpoint.py [--turns 5] [--steps 120] [--every 20] [--folder /tmp]

hpc-train charlm on one rank and one thread: a GPT of 4 layers, width 256, context 128, AdamW, 8 texts a
step, so 39 MB a checkpoint. With checkpoints and without take turns; they come more often than after 100
steps, so that their cost shows, and the share is worked out:

    cost    (with - without) / checkpoints: of the time that the training takes, and of the CPU of all
            threads of the process, the one that writes too
    share   cost / 100 steps without checkpoints; medians of neighbours
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile

BIN = pathlib.Path(os.environ.get("HPC_BIN", pathlib.Path(__file__).parents[1] / "build/release/bin"))
BATCH, CONTEXT, GOAL = 8, 128, 0.03


def train(folder, every):
    """(seconds, CPU seconds, steps, checkpoints)."""
    checkpoints = folder / "checkpoints"
    shutil.rmtree(checkpoints, ignore_errors=True)
    more = ["--checkpoint-dir", checkpoints, "--checkpoint-every", every] if every else []
    command = [BIN / "hpc-train", "charlm", "--data", folder / "text", "--epochs", 1, "--threads", 1,
               "--width", 256, "--depth", 4, "--context", CONTEXT, "--batch", BATCH, *more]
    done = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    summary = json.loads(done.stdout.read().splitlines()[-1])
    _, status, used = os.wait4(done.pid, 0)
    if status != 0:
        raise RuntimeError(f"hpc-train ended with {status}")
    steps = summary["steps"]
    return (summary["seconds"], used.ru_utime + used.ru_stime, steps, steps // every if every else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=120, help="of each training")
    parser.add_argument("--every", type=int, default=20, help="steps from checkpoint to checkpoint")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="on the disk that is written to")
    args = parser.parse_args()
    shares, costs = [[], []], [[], []]  # each holds time, then CPU
    with tempfile.TemporaryDirectory(prefix="hpc-checkpoint-", dir=args.folder) as name:
        folder = pathlib.Path(name)
        windows = args.steps * BATCH
        (folder / "text").write_bytes(random.Random(1).randbytes(int((windows * CONTEXT + 1) / 0.9) + 2))
        for turn in range(args.turns + 1):
            without, saving = train(folder, 0), train(folder, args.every)
            for which in range(2):
                cost = (saving[which] - without[which]) / saving[3]
                if turn > 0:  # the first turn reads the programs from disk
                    costs[which].append(cost)
                    shares[which].append(cost / (without[which] / without[2] * 100))
    for name, cost, share in zip(("time", "CPU"), costs, shares):
        median = statistics.median(share)
        print(f"{name:5} {statistics.median(cost) * 1000:6.0f} ms a checkpoint, {median:7.2%} of 100 steps   "
              f"goal at most {GOAL:.0%}: {'reached' if median <= GOAL else 'MISSED'}")


if __name__ == "__main__":
    main()
