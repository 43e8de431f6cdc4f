"""One rank of gang_test.py: what training scripts do over the rendezvous store, on gloo.

Takes a folder for its checkpoint; ends with an exception if a result is wrong.
"""

import datetime
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])


def expect(what, got, want):
    if got != want:
        raise AssertionError(f"rank {RANK}: {what} is {got}, not {want}")


def collectives():
    total = torch.tensor([RANK + 1])
    dist.all_reduce(total)
    expect("the sum", total.item(), WORLD * (WORLD + 1) // 2)
    dist.barrier()
    objects = [None] * WORLD
    dist.all_gather_object(objects, {"rank": RANK, "text": "x" * RANK})
    expect("the gathered", [one["rank"] for one in objects], list(range(WORLD)))
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=60))


def groups():
    halves = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    mine = halves[RANK // 2]
    total = torch.tensor([RANK])
    dist.all_reduce(total, group=mine)
    expect("the sum in the half", total.item(), 1 if RANK < 2 else 5)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("outer", "inner"))
    expect("the place in the mesh", list(mesh.get_coordinate()), [RANK // 2, RANK % 2])


def send_and_receive():
    token = torch.tensor([RANK])
    received = torch.zeros(1, dtype=torch.int64)
    requests = [dist.isend(token, (RANK + 1) % WORLD), dist.irecv(received, (RANK - 1) % WORLD)]
    for request in requests:
        request.wait()
    expect("the neighbour's token", received.item(), (RANK - 1) % WORLD)


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.full((4, 8), float(RANK + 1))).pow(2).mean()
    loss.backward()
    optimizer.step()


def new_model():
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))


def ddp_and_checkpoint(folder):
    model = DistributedDataParallel(new_model())
    train(model)
    weights = [one.detach().clone() for one in model.parameters()]
    everyone = [None] * WORLD
    dist.all_gather_object(everyone, [one.sum().item() for one in weights])
    expect("each rank's weights", everyone, [everyone[0]] * WORLD)
    dcp.save({"model": model.state_dict()}, checkpoint_id=folder)
    state = {"model": DistributedDataParallel(new_model()).state_dict()}
    dcp.load(state, checkpoint_id=folder)
    expect("the loaded weights",
           all(torch.equal(a, b) for a, b in zip(state["model"].values(), weights)), True)


def fsdp2():
    model = new_model()
    for layer in model:
        if list(layer.parameters()):
            fully_shard(layer)
    fully_shard(model)
    train(model)
    weight = next(model.parameters()).full_tensor()
    expect("the sharded weight", (tuple(weight.shape), weight.isfinite().all().item()),
           ((8, 8), True))


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    collectives()
    groups()
    send_and_receive()
    ddp_and_checkpoint(sys.argv[1])
    fsdp2()
    dist.destroy_process_group()
    print("done", flush=True)


if __name__ == "__main__":
    main()
