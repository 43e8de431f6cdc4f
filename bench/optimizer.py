#!/usr/bin/env python3
"""How long a step of AdamW takes on the CPU, with one thread: torch::optim in C++, PyTorch's fused
and default ones in Python, and ShardedOptimizer of train/, 25.6 million parameters in 161 tensors.

Each is a process of its own; they take turns, and the medians of all their steps are compared. Needs
build/release/bin/hpc-optimizer-step (deploy/build.sh release hpc-optimizer-step, with HPC_TRAIN=ON;
HPC_BIN names another folder) and, in HPC_TEST_PYTHON, the torch that it was built with.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

BIN = pathlib.Path(os.environ.get("HPC_BIN", pathlib.Path(__file__).parents[1] / "build/release/bin"))
PYTHON = os.environ.get("HPC_TEST_PYTHON", sys.executable)
SCRIPT = """
import sys, time, torch
torch.set_num_threads(1)
shapes = [(512, 512, 3, 3)] * 10 + [(1000, 2048)] + [(512,)] * 150
parameters = [torch.randn(shape, requires_grad=True) for shape in shapes]
for one in parameters:
    one.grad = torch.randn_like(one)
optimizer = torch.optim.AdamW(parameters, lr=1e-3, fused=sys.argv[1] == "fused" or None)
for _ in range(3):
    optimizer.step()
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    optimizer.step()
    print((time.perf_counter() - start) * 1000)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="of each turn")
    args = parser.parse_args()
    steps = str(args.steps)
    commands = {
        "torch::optim, C++": [BIN / "hpc-optimizer-step", "torch", steps],
        "torch.optim, Python": [PYTHON, "-c", SCRIPT, "default", steps],
        "torch.optim fused, Python": [PYTHON, "-c", SCRIPT, "fused", steps],
        "ShardedOptimizer": [BIN / "hpc-optimizer-step", "ours", steps],
    }
    times = {name: [] for name in commands}
    for _ in range(args.turns):
        for name, command in commands.items():
            printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            times[name] += [float(line) for line in printed.split()]
    ours = statistics.median(times["ShardedOptimizer"])
    for name, measured in times.items():
        median = statistics.median(measured)
        print(f"{name:26} {median:7.1f} ms (best {min(measured):.1f}); "
              f"ShardedOptimizer takes {ours / median:.2f} x")


if __name__ == "__main__":
    main()
