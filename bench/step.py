#!/usr/bin/env python3
"""What does a step of data-parallel training cost in C++ (train/), and in Python with PyTorch's DDP?

    HPC_TEST_PYTHON=... bench/step.py [--turns 7] [--blocks 5] [--steps 20] [--only conv,gpt]
    HPC_TEST_PYTHON=... bench/step.py --gpu      (with a torch for GPUs; docs/TRAINING.md)

Two ranks on loopback (Gloo), one thread each, AdamW, the same nets and batches: a net of two convolutions
with 32 pictures of 28 x 28, and a GPT of 4 layers, width 256, context 128, with 4 texts. hpc-training-step
and the script below take turns. Python has its quickest optimizer, AdamW(fused=True). With --gpu it is one
rank on one GPU, with autocast to bf16, and Python's net is a plain one, without DDP.

    CPU a step   milliseconds of CPU of a rank's process, all its threads, a step: zero_grad, forward,
                 loss, backward with the reduction, optimizer, loss.item(); median of blocks of --steps
    a step       milliseconds of time of the same, until the device has done all of it
    start        from before the first process was started until the first step of both ranks has ended,
                 and the CPU of a rank until then
    ratio        of the medians of neighbours, ours by Python's: their median. The first turn, which reads
                 programs from disk, does not count
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.cluster import BIN  # noqa: E402
from measure.gang import Gang  # noqa: E402

PYTHON = os.environ.get("HPC_TEST_PYTHON", sys.executable)
CPU_GOALS = {"conv": 0.95, "gpt": 1.0}
STEP_GOAL = 1.0  # the goal on a GPU
START_GOAL = 0.5
SCRIPT = """
import os, sys, time, torch
import torch.nn.functional as F
from torch import nn
net, blocks, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
device, narrow = sys.argv[4], sys.argv[5] == "bf16"
torch.set_num_threads(1)
WIDTH, CONTEXT, HEADS, DEPTH, SYMBOLS = 256, 128, 4, 4, 256

class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.wide, self.head = nn.Linear(32 * 7 * 7, 128), nn.Linear(128, 10)
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        return self.head(F.relu(self.wide(x.flatten(1))))

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_layers = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value, self.attended = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.query_key_value(self.before_attention(x)).view(
            batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = x + self.attended(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return h + self.narrow(F.gelu(self.wide(self.before_layers(h))))

class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.symbols, self.places = nn.Embedding(SYMBOLS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, SYMBOLS, bias=False)
    def forward(self, codes):
        h = self.symbols(codes) + self.places.weight
        for block in self.blocks:
            h = block(h)
        return self.head(self.last(h)).flatten(0, 1)

several = int(os.environ["WORLD_SIZE"]) > 1
if several:
    torch.distributed.init_process_group("gloo")
if net == "conv":
    module, x, y = ConvNet(), torch.randn(32, 1, 28, 28), torch.randint(10, (32,))
else:
    module = Gpt()
    x, y = torch.randint(SYMBOLS, (4, CONTEXT)), torch.randint(SYMBOLS, (4 * CONTEXT,))
module, x, y = module.to(device), x.to(device), y.to(device)
model = nn.parallel.DistributedDataParallel(module) if several else module
optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
loss_of_all = 0
def step():
    global loss_of_all
    optimizer.zero_grad()
    with torch.autocast(device, torch.bfloat16, enabled=narrow):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    loss_of_all += loss.item()
def all_steps():
    for _ in range(steps):
        step()
    if device == "cuda":
        torch.cuda.synchronize()
step()
print("first", time.monotonic(), time.process_time())
all_steps()
for _ in range(blocks):
    begin, cpu = time.monotonic(), time.process_time()
    all_steps()
    print((time.process_time() - cpu) * 1000 / steps, (time.monotonic() - begin) * 1000 / steps)
sys.stdout.flush()
if several:
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
"""


def measure(command, ranks, folder):
    """(CPU ms and ms a step, seconds to the first step, CPU seconds to it): of a rank, of a rank, the
    latest, of a rank."""
    with Gang(ranks, lambda rank: command, folder) as gang:
        gang.finish(timeout=300)
        blocks, first, cpu = [], [], []
        for rank in range(ranks):
            lines = gang.out(rank).splitlines()
            _, at, spent = lines[0].split()
            first.append(float(at) - gang.began)
            cpu.append(float(spent))
            blocks += [map(float, line.split()) for line in lines[1:]]
        cpu_of_step, step = (statistics.median(values) for values in zip(*blocks))
        return cpu_of_step, step, max(first), statistics.mean(cpu)


def tell(name, ours, python, unit, goal=None):
    ratio = statistics.median(a / b for a, b in zip(ours, python))
    judged = "" if goal is None else f"   goal at most {goal}: {'reached' if ratio <= goal else 'MISSED'}"
    print(f"{name:18} {statistics.median(ours):8.2f} {unit:2} {statistics.median(python):8.2f} {unit:2} "
          f"{ratio:7.3f}{judged}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="of each block")
    parser.add_argument("--only", default="conv,gpt")
    parser.add_argument("--gpu", action="store_true", help="one rank on a GPU, in bf16")
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--ranks", type=int, default=2, help="one: without DDP in Python")
    args = parser.parse_args()
    if args.gpu:
        args.precision, args.ranks = "bf16", 1
    print(f"{'':18} {'train/':>11} {'Python':>11} {'ratio':>7}")
    with tempfile.TemporaryDirectory(prefix="hpc-step-") as folder:
        for net in args.only.split(","):
            rest = [net, str(args.blocks), str(args.steps), "cuda" if args.gpu else "cpu", args.precision]
            commands = ([BIN / "hpc-training-step", *rest], [PYTHON, "-c", SCRIPT, *rest])
            turns = [[measure(command, args.ranks, pathlib.Path(folder) / "ranks") for command in commands]
                     for _ in range(args.turns + 1)][1:]
            ours, python = ([list(values) for values in zip(*side)] for side in zip(*turns))
            tell(f"{net}, CPU a step", ours[0], python[0], "ms", None if args.gpu else CPU_GOALS[net])
            tell(f"{net}, a step", ours[1], python[1], "ms", STEP_GOAL if args.gpu else None)
            tell(f"{net}, start", ours[2], python[2], "s", START_GOAL)
            tell(f"{net}, start, CPU", ours[3], python[3], "s")


if __name__ == "__main__":
    main()
