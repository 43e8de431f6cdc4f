#!/usr/bin/env python3
"""Trains a small convolutional net on handwritten digits, data-parallel over all ranks.

    hpcctl run -N 4 -- python examples/ddp_digits.py            four PCs, one rank each
    torchrun --nproc_per_node 4 examples/ddp_digits.py          four processes on this one

The data are the 1,797 real 8x8 images that come with scikit-learn. Every rank trains on its own
share of them with its own copy of the net; DistributedDataParallel averages the gradients, so that
all copies stay equal. It runs on CPUs (gloo) and on GPUs (nccl) alike.

After each epoch it writes a checkpoint into --checkpoint-dir (HPC_CHECKPOINT_DIR, which hpcctl
sets), and a later start goes on from there, with as many ranks as it then has.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

try:
    import hpc  # exists when hpcctl started this program
except ImportError:
    hpc = None


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=32, help="of each rank")
    parser.add_argument("--lr", type=float, default=6e-3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--min-accuracy", type=float, default=0.95,
                        help="on the test images; a net that is not better is a failure")
    parser.add_argument("--checkpoint-dir", default=os.environ.get("HPC_CHECKPOINT_DIR"))
    return parser.parse_args()


def load_data(seed):
    """The images as (training set, test set), the same on every rank."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    generator = torch.Generator().manual_seed(seed)
    return random_split(TensorDataset(images, labels), [0.8, 0.2], generator=generator)


def make_net():
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64), nn.ReLU(),
        nn.Linear(64, 10),
    )


def train_epoch(net, loader, optimizer, device):
    """One pass over this rank's share. Returns the mean loss."""
    net.train()
    total = 0.0
    for images, labels in loader:
        loss = nn.functional.cross_entropy(net(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()  # gradients are averaged over the ranks here
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def test_accuracy(net, dataset, device):
    """The share of the images that the net reads correctly."""
    net.eval()
    images, labels = dataset[list(range(len(dataset)))]
    return (net(images.to(device)).argmax(dim=1).cpu() == labels).float().mean().item()


def save_checkpoint(folder, state):
    """Replaces the checkpoint whole or not at all, whatever dies in between."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "digits.pt")
    part = f"{path}.{dist.get_rank()}"  # PCs that share the folder each write a part of their own
    with open(part, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    folder_fd = os.open(folder, os.O_RDONLY)
    os.fsync(folder_fd)  # makes the new name itself durable
    os.close(folder_fd)


def load_checkpoint(folder):
    """The newest one that any rank finds, given to all: PCs may hold different ones, or none."""
    path = os.path.join(folder, "digits.pt")
    state = None
    if os.path.exists(path):
        state = torch.load(path, map_location="cpu", weights_only=True)
    steps = [0] * dist.get_world_size()
    dist.all_gather_object(steps, state["step"] if state else 0)
    if max(steps) == 0:
        return None
    owner = steps.index(max(steps))
    box = [state if dist.get_rank() == owner else None]
    dist.broadcast_object_list(box, src=owner)
    return box[0]


@record  # a failure leaves its traceback where the launcher looks for it
def main():
    args = parse_args()
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
        dist.init_process_group("nccl")
    else:
        device = torch.device("cpu")
        torch.set_num_threads(1)  # images this small are not worth a second thread
        dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()

    train_set, test_set = load_data(args.seed)
    sampler = DistributedSampler(train_set, seed=args.seed)
    loader = DataLoader(train_set, batch_size=args.batch_size, sampler=sampler)
    torch.manual_seed(args.seed)
    net = make_net().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)

    first_epoch, step = 1, 0
    checkpoint = load_checkpoint(args.checkpoint_dir) if args.checkpoint_dir else None
    if checkpoint:
        net.load_state_dict(checkpoint["net"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        first_epoch, step = checkpoint["epoch"] + 1, checkpoint["step"]
    if rank == 0:
        how = f"resuming at step {step}, epoch {first_epoch}," if checkpoint else "starting"
        print(f"{how} with {world_size} ranks on {device.type}, {len(train_set)} images", flush=True)

    model = DistributedDataParallel(net)
    for epoch in range(first_epoch, args.epochs + 1):
        start = time.monotonic()
        # Each epoch has its own order, which is the same each time that it is trained.
        sampler.set_epoch(epoch)
        loss = train_epoch(model, loader, optimizer, device)
        step += len(loader)
        print(f"epoch {epoch}/{args.epochs} loss {loss:.3f} ({time.monotonic() - start:.2f} s)",
              flush=True)
        if hpc:
            hpc.log(step=step, loss=loss)
        # One rank of each PC saves, since nobody knows which PCs will be there next time.
        if args.checkpoint_dir and int(os.environ["LOCAL_RANK"]) == 0:
            save_checkpoint(args.checkpoint_dir, {"epoch": epoch, "step": step,
                                                  "net": net.state_dict(),
                                                  "optimizer": optimizer.state_dict()})
            if hpc and rank == 0:
                hpc.checkpoint_saved(step)  # a good moment to go on with more PCs

    # All ranks have the same net, hence the same answer. A collective here, just before the end,
    # would be a risk: gloo's thread may still hold its tensor when Python exits, and then aborts.
    accuracy = test_accuracy(net, test_set, device)
    if rank == 0:
        print(f"accuracy {accuracy:.4f} on {len(test_set)} test images", flush=True)
        if hpc:
            hpc.log(step=step, accuracy=accuracy)
    dist.destroy_process_group()
    if accuracy <= args.min_accuracy:
        raise SystemExit(f"accuracy {accuracy:.4f} is not better than {args.min_accuracy}")


if __name__ == "__main__":
    main()
