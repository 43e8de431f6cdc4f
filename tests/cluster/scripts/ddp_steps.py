"""What steps.py does, by ranks that average their gradients in each step.

    ddp_steps.py FOLDER PERIOD
"""

import sys
import time

import torch
import torch.distributed as dist
from steps import Steps
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def agreed(number):
    """What rank 0 says."""
    box = torch.tensor([number])
    dist.broadcast(box, src=0)
    return int(box)


def main():
    steps = Steps(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    step = agreed(steps.load())
    while not agreed(steps.done()):
        optimizer.zero_grad()
        model(torch.randn(32, 16)).square().mean().backward()
        optimizer.step()
        step += 1
        steps.made(step)
        time.sleep(float(sys.argv[2]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
