"""An ordinary DeepSpeed training with ZeRO stage 1."""

import argparse

import deepspeed
import torch
from torch import nn

CONFIG = {
    "train_micro_batch_size_per_gpu": 16,
    "optimizer": {"type": "Adam", "params": {"lr": 0.05, "torch_adam": True}},
    "zero_optimization": {"stage": 1},
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)  # DeepSpeed's own launcher passes it
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()

    deepspeed.init_distributed(dist_backend="gloo")
    rank, world_size = deepspeed.comm.get_rank(), deepspeed.comm.get_world_size()
    torch.manual_seed(7)
    engine, *_ = deepspeed.initialize(model=nn.Linear(8, 1), config=CONFIG)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(args.steps):
        inputs = torch.randn(16, 8, generator=generator)
        loss = nn.functional.mse_loss(engine(inputs), inputs.sum(dim=1, keepdim=True))
        engine.backward(loss)
        engine.step()
    print(f"deepspeed rank {rank} of {world_size}: loss {loss.item():.4f}", flush=True)
    deepspeed.comm.barrier()
    deepspeed.comm.destroy_process_group()
    if loss > 0.1:
        raise SystemExit("did not learn")


if __name__ == "__main__":
    main()
