"""hpc-train beside Python: the same model, data and hyperparameters give the same losses.

Run by CTest with a Python that has torch; HPC_TRAIN_PROGRAM is the program.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/cluster"))

from harness.ports import free_port  # noqa: E402

PROGRAM = os.environ.get("HPC_TRAIN_PROGRAM", "hpc-train")
EPOCHS = 12


class Letters(nn.Module):
    """TorchScript's interpreter differentiates it by itself where it may."""

    def __init__(self):
        super().__init__()
        self.table, self.last = nn.Embedding(256, 16), nn.Linear(16, 256)

    def forward(self, x):
        return self.last(torch.relu(self.table(x)))


def make_net():
    torch.manual_seed(5)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 32), nn.Tanh(),
                         nn.Linear(32, 10))


class AgainstPythonTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        random = numpy.random.default_rng(3)
        self.labels = random.integers(0, 10, 300)
        kinds = random.random((10, 8, 8))
        self.images = (kinds[self.labels] + 0.3 * random.random((300, 8, 8))).astype("float32")
        for name in ("images", "test-images"):
            numpy.save(self.folder / f"{name}.npy", self.images)
        for name in ("labels", "test-labels"):
            numpy.save(self.folder / f"{name}.npy", self.labels)
        torch.jit.script(make_net()).save(str(self.folder / "net.pt"))

    def in_python(self, optimizer_class, **options):
        """Losses of all samples, step by step."""
        net = make_net()
        optimizer = optimizer_class(net.parameters(), **options)
        losses = []
        for _ in range(EPOCHS):
            loss = nn.functional.cross_entropy(net(torch.tensor(self.images).unsqueeze(1)),
                                               torch.tensor(self.labels))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    def in_cpp(self, ranks, *options):
        metrics = self.folder / "metrics"
        metrics.unlink(missing_ok=True)
        environment = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(free_port()), "RES_OPTIONS": "attempts:1 timeout:1"}
        environment.pop("HPC_CHECKPOINT_DIR", None)
        processes = [subprocess.Popen(
            [PROGRAM, "digits", "--data", self.folder, "--model", self.folder / "net.pt", "--batch",
             "300", "--epochs", str(EPOCHS), *options],
            env={**environment, "RANK": str(rank),
                 "HPC_METRICS_FILE": str(metrics) if rank == 0 else ""},
            stdout=subprocess.DEVNULL) for rank in range(ranks)]
        for process in processes:
            self.addCleanup(process.kill)  # otherwise it waits for ranks that are gone
        for process in processes:
            self.assertEqual(process.wait(120), 0)
        return [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]

    def compare(self, ours, pythons):
        self.assertEqual(len(ours), len(pythons))
        self.assertLess(pythons[-1], 0.9 * pythons[0])  # the loss shows that it learns
        for step, (a, b) in enumerate(zip(ours, pythons), 1):
            self.assertAlmostEqual(a, b, delta=1e-4 * b, msg=f"step {step}: {ours} {pythons}")

    def test_adamw(self):
        pythons = self.in_python(torch.optim.AdamW, lr=3e-3, weight_decay=0.01)
        for ranks in (1, 3):
            self.compare(self.in_cpp(ranks, "--lr=3e-3", "--weight-decay=0.01"), pythons)
        self.compare(self.in_cpp(2, "--lr=3e-3", "--weight-decay=0.01", "--zero=2"), pythons)

    def test_sgd(self):
        self.compare(self.in_cpp(2, "--optimizer=sgd", "--lr=0.1", "--momentum=0.9"),
                     self.in_python(torch.optim.SGD, lr=0.1, momentum=0.9))

    def test_a_module_trains_in_bf16(self):
        torch.jit.script(Letters()).save(str(self.folder / "net.pt"))
        (self.folder / "text").write_text("the cat sat on the mat. " * 200)
        losses = {}
        for precision in ("fp32", "bf16"):
            summary = self.folder / precision
            subprocess.run([PROGRAM, "charlm", "--data", self.folder / "text", "--model",
                            self.folder / "net.pt", "--context=32", "--lr=0.01",
                            f"--precision={precision}", f"--summary={summary}"],
                           check=True, stdout=subprocess.DEVNULL)
            losses[precision] = json.loads(summary.read_text())["loss"]
        self.assertAlmostEqual(losses["bf16"], losses["fp32"], delta=0.02 * losses["fp32"])


if __name__ == "__main__":
    sys.exit(unittest.main())
