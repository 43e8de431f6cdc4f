"""A DistributedDataParallel script up to its first step; each rank then writes a line into argv[1]."""

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(64, 8))
model(torch.ones(16, 64)).sum().backward()  # returns when the gradients have been reduced
with open(sys.argv[1], "w") as arrivals:
    arrivals.write("\n")
dist.destroy_process_group()
