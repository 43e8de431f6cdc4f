"""Scripts written for Lightning, DeepSpeed and Accelerate, unmodified, on two PCs."""

import os
import pathlib
import re
import unittest

from harness import account
from harness.cluster import ROOT, ClusterTest

PYTHON = os.environ.get("HPC_TEST_FRAMEWORKS_PYTHON", "")
SCRIPTS = ROOT / "tests/cluster/scripts"


class Trains:
    def train(self, script, *args, options=()):
        # Console scripts such as ninja are found beside the interpreter.
        path = f"{pathlib.Path(PYTHON).parent}:{os.environ['PATH']}"
        done = self.cluster.hpcctl(
            "run", "-N", 2, "--stop-grace", "5s", "--env", f"PATH={path}", "--env",
            "DS_ACCELERATOR=cpu", *options, "--", PYTHON, SCRIPTS / script, *args, timeout=280)
        run = self.cluster.json("runs")[0]
        self.assertEqual(run["state"], "succeeded", done.stderr)
        return done.stdout


@unittest.skipUnless(PYTHON, "HPC_TEST_FRAMEWORKS_PYTHON names no Python with the frameworks")
class FrameworksTest(Trains, ClusterTest):
    options = {"nodes": 2, "network": True}

    def test_lightning(self):
        self.train("lightning_train.py", "--nodes", 2, "--devices", 1)

    def test_lightning_that_takes_us_for_slurm(self):
        output = self.train("lightning_train.py", "--nodes", 2, "--devices", 1,
                            options=("--mode", "slurm"))
        self.assertIn("SLURMEnvironment", output)

    def test_deepspeed(self):
        self.train("deepspeed_train.py")

    def test_accelerate(self):
        # Without the variable that hpcctl adds each rank would train alone here, and say nothing.
        self.assertIn("accelerate rank 1 of 2", self.train("accelerate_train.py"))


@unittest.skipUnless(PYTHON, "HPC_TEST_FRAMEWORKS_PYTHON names no Python with the frameworks")
@unittest.skipUnless(account.serves_twice(), "no supervisor serves a second attempt here")
class WarmFrameworksTest(Trains, ClusterTest):
    # On loopback: in the namespace of a PC there is no cgroup, and no supervisor serves twice.
    options = {"nodes": 2}

    def test_each_starts_warm_and_trains_the_same(self):
        def losses(output):
            return sorted(re.findall("rank . of 2.*: loss [0-9.]+", output))
        # The account of the tests has no home, and only what has the same variables starts warm.
        home = ("--env", f"HOME={self.cluster.dir}")
        for script, args in (("lightning_train.py", ["--nodes", 2, "--devices", 1]),
                             ("deepspeed_train.py", []), ("accelerate_train.py", [])):
            with self.subTest(script):
                cold = losses(self.train(script, *args, options=home))
                self.assertEqual(len(cold), 2)
                for _ in range(5):  # until the modules have been imported beforehand
                    warm = losses(self.train(script, *args, options=home))
                    self.assertEqual(warm, cold)
                    starts = self.cluster.starts(self.cluster.json("runs")[0]["id"])
                    if set(starts.values()) == {"warm"}:
                        break
                self.assertEqual(set(starts.values()), {"warm"})


if __name__ == "__main__":
    unittest.main()
