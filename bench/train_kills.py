#!/usr/bin/env python3
"""Does native training get through two hundred losses of a rank, and is its checkpoint always whole?

    HPC_TEST_PYTHON=... $HPC_TEST_PYTHON bench/train_kills.py [--kills 200] [--seed N] [--deadline 2]

Trains hpc-train digits, which writes a checkpoint every few steps, with two to five ranks: each on a PC
of its own, a network namespace on a bridge (needs root; without it no cable is pulled). At a random
moment a random rank is killed, stopped, or its cable is pulled. Then

  - every other rank has to end with 1 and name that rank: within 5 s of a kill, else within the
    deadline, twice the time that ranks have to answer (2 s), and 5 s that this machine is granted;
  - the newest checkpoint has to be whole, read with the safetensors of Python: the hashes of all
    files, shapes, finite numbers, each element of the optimizer's states once;
  - the next gang, of another number of ranks and another way to share the optimizer out, has to go on
    from that very checkpoint.

Two trainings take turns: one has a folder for all ranks, in the other each rank has one. A cable is
pulled where there are at least three ranks: two would each miss the other. Half of those that are
stopped wake up when the others are gone, and have to end by themselves. The first promise that is
broken ends the program with exit code 1, the seed, and what the ranks said.

    times    how often
    ended    from the loss until the last of the others has ended: median, worst
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.cluster import BIN  # noqa: E402
from harness.network import Network  # noqa: E402
from measure.gang import Gang  # noqa: E402

MOST_RANKS = 5
ANSWER_SECONDS = 2  # the same as kAnswerTime in train/group/rank_watch.h
GRANTED = 5


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def newest(folders):
    """(step, folder) of the newest checkpoint that is whole by its own account; None."""
    found = [(int(manifest.parent.name.removeprefix("step-")), manifest.parent)
             for folder in folders for manifest in folder.glob("step-*/manifest.json")]
    return max(found, default=None)


def check_whole(path):
    manifest = json.loads((path / "manifest.json").read_text())
    elements = collections.Counter()  # keyed by state, as "fc.weight:exp_avg"
    wanted = {one["name"]: one["shape"] for one in manifest["parameters"] + manifest["buffers"]}
    for file in manifest["files"]:
        data = (path / file["name"]).read_bytes()
        require(len(data) == file["bytes"], f"{path}/{file['name']}: {len(data)} bytes")
        require(hashlib.sha256(data).hexdigest() == file["sha256"], f"{path}/{file['name']}: its hash")
        tensors = load_file(path / file["name"])
        for name, tensor in tensors.items():
            require(numpy.isfinite(tensor).all(), f"{path}/{file['name']}: {name} is not finite")
        if file["name"] == "model.safetensors":
            shapes = {name: list(tensor.shape) for name, tensor in tensors.items()}
            require(shapes == wanted, f"{path}: shapes {shapes}, not {wanted}")
        else:
            for name, tensor in tensors.items():
                elements[name.rsplit(":", 1)[0]] += tensor.size
    for name, shape in ((one["name"], one["shape"]) for one in manifest["parameters"]):
        for state in ("exp_avg", "exp_avg_sq"):
            count = elements.pop(f"{name}:{state}", 0)
            require(count == int(numpy.prod(shape)), f"{path}: {count} elements of {name}:{state}")
    require(manifest["step"] == int(path.name.removeprefix("step-")), f"{path}: its step")


class Campaign:
    def __init__(self, args, folder):
        self.args = args
        self.rng = random.Random(args.seed)
        self.folder = folder
        self.network = None if Network.available() else Network(
            [f"pc{rank}" for rank in range(MOST_RANKS)])
        self.trainings = {"one folder": [folder / "one"] * MOST_RANKS,
                          "own folders": [folder / f"own{rank}" for rank in range(MOST_RANKS)]}
        self.ranks_before = dict.fromkeys(self.trainings, 0)
        self.ended = collections.defaultdict(list)
        self.checked = 0
        self.went_on = 0
        self.woke = 0

    def close(self):
        if self.network:
            self.network.close()

    def round(self, number):
        training = list(self.trainings)[number % len(self.trainings)]
        folders = self.trainings[training]
        ranks = self.rng.choice([n for n in range(2, MOST_RANKS + 1)
                                 if n != self.ranks_before[training]])
        self.ranks_before[training] = ranks
        before = newest(folders)
        options = ["--checkpoint-every", self.rng.randint(1, 10), "--zero", self.rng.randint(0, 2),
                   "--deadline", self.args.deadline, "--epochs", 1000000, "--batch", 32]
        command = lambda rank: [BIN / "hpc-train", "digits", "--data", self.folder / "data",  # noqa: E731
                                "--checkpoint-dir", folders[rank], *options]
        with Gang(ranks, command, self.folder / "ranks", self.network) as gang:
            try:
                self.lose_one(gang, training, ranks)
                self.look_at(gang, folders, before)
            except AssertionError as error:
                said = "\n".join(f"--- rank {rank}\n{gang.out(rank)[-400:]}{gang.err(rank)}"
                                 for rank in range(ranks))
                raise AssertionError(f"training {training} of {ranks}: {error}\n{said}") from error

    def lose_one(self, gang, training, ranks):
        deadline = time.monotonic() + 60
        while "digits: " not in gang.out(0):
            require(time.monotonic() < deadline, "it did not begin to train within 60 s")
            require(all(one.poll() is None for one in gang.ranks), "a rank ended by itself")
            time.sleep(0.01)
        time.sleep(self.rng.uniform(0, 2))
        require(all(one.poll() is None for one in gang.ranks), "a rank ended by itself")
        kinds = ["killed"] * 4 + ["stopped"] * 2
        if self.network and ranks > 2:
            kinds += ["cable out"]
        kind, victim = self.rng.choice(kinds), self.rng.randrange(ranks)
        lost = time.monotonic()
        if kind == "cable out":
            self.network.cable(f"pc{victim}", False)
        else:
            gang.ranks[victim].send_signal(
                signal.SIGKILL if kind == "killed" else signal.SIGSTOP)
        limit = GRANTED if kind == "killed" else (
            self.args.deadline + 2 * ANSWER_SECONDS + GRANTED)
        try:
            for rank, process in enumerate(gang.ranks):
                if rank == victim:
                    continue
                try:
                    code = process.wait(max(0.01, lost + limit - time.monotonic()))
                except subprocess.TimeoutExpired:
                    raise AssertionError(f"rank {victim} was lost ({kind}), and rank {rank} still runs "
                                         f"after {limit} s") from None
                require(code == 1, f"rank {victim} was lost ({kind}); rank {rank} ended with {code}")
                require(re.search(rf"rank {rank}: rank {victim} ", gang.err(rank)),
                        f"rank {victim} was lost ({kind}), and rank {rank} does not say so")
            self.ended[kind, training].append(time.monotonic() - lost)
            self.end_victim(gang.ranks[victim], kind)
        finally:
            if kind == "cable out":
                self.network.cable(f"pc{victim}", True)

    def end_victim(self, process, kind):
        if kind == "stopped" and self.rng.random() < 0.5:
            process.kill()
            return
        if kind == "stopped":
            self.woke += 1
            process.send_signal(signal.SIGCONT)
        if kind != "killed":
            try:
                require(process.wait(self.args.deadline + 2 * ANSWER_SECONDS + GRANTED) == 1,
                        f"the rank that was lost ({kind}) ended with {process.returncode}")
            except subprocess.TimeoutExpired:
                raise AssertionError(f"the rank that was lost ({kind}) does not end") from None

    def look_at(self, gang, folders, before):
        if before and (said := re.search(r"going on at step (\d+)", gang.out(0))):
            require(int(said[1]) == before[0],
                    f"it goes on at step {said[1]}, and {before[1]} was there")
            self.went_on += 1
        after = newest(folders)
        require(not before or after and after[0] >= before[0], f"{before[1] if before else 0} was "
                f"whole; now the newest is {after}")
        if after:
            check_whole(after[1])
            self.checked += 1

    def show(self, seconds):
        print(f"{'':26} times   ended")
        for (kind, training), took in sorted(self.ended.items()):
            print(f"{kind + ', ' + training:26} {len(took):5}   median {statistics.median(took):.2f} s, "
                  f"worst {max(took):.2f} s")
        print(f"all {sum(map(len, self.ended.values()))} in {seconds / 60:.0f} min: all others named the "
              f"rank; {self.woke} woke up and ended; {self.checked} checkpoints were whole, "
              f"{self.went_on} were gone on from with another number of ranks")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--deadline", type=int, default=2, help="seconds")
    args = parser.parse_args()
    print(f"--seed {args.seed}", flush=True)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hpc-train-kills-") as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, ROOT / "examples/digits_data.py", folder / "data"], check=True,
                       stdout=subprocess.DEVNULL)
        campaign = Campaign(args, folder)
        try:
            for number in range(args.kills):
                campaign.round(number)
                print(f"\r{number + 1} ", end="", file=sys.stderr, flush=True)
        except AssertionError as error:
            sys.exit(f"\nseed {args.seed}, loss {number + 1}: {error}")
        finally:
            campaign.close()
    print(file=sys.stderr)
    campaign.show(time.monotonic() - begin)


if __name__ == "__main__":
    main()
