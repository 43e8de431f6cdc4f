"""An ordinary Accelerate training."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator()
    set_seed(7)
    inputs = torch.randn(256, 8)
    data = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
    net = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net, optimizer, loader = accelerator.prepare(
        net, optimizer, DataLoader(data, batch_size=16, shuffle=True)
    )
    for _ in range(3):
        for batch, targets in loader:
            loss = nn.functional.mse_loss(net(batch), targets)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
    rank, world_size = accelerator.process_index, accelerator.num_processes
    print(f"accelerate rank {rank} of {world_size}: loss {loss.item():.4f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()
    if loss > 0.1:
        raise SystemExit("did not learn")


if __name__ == "__main__":
    main()
