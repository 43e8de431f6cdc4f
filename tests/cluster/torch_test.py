"""Real torch ranks on several PCs."""

import unittest

from harness.cluster import PYTHON, ROOT, ClusterTest
from harness.process import eventually

ALL_REDUCE = """
import datetime, os, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
t = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(t)
if os.environ.get("CRASH") == os.environ["RANK"]:
    os._exit(9)
dist.barrier()
if os.environ.get("ABSENT"):
    dist.barrier()
print("sum", int(t))
dist.destroy_process_group()
"""


@unittest.skipUnless(PYTHON, "HPC_TEST_PYTHON names no Python with torch")
class TorchTest(ClusterTest):
    options = {"nodes": 3, "network": True}

    def test_a_gang_on_three_pcs_meets_and_reduces(self):
        script = self.cluster.script("reduce.py", ALL_REDUCE)
        done = self.cluster.hpcctl("run", "-N", 3, "--no-label", "--", "python", script, timeout=120)
        self.assertEqual(done.stdout.splitlines(), ["sum 6"] * 3)

    def test_a_rank_that_dies_in_a_collective_is_the_one_named(self):
        script = self.cluster.script("crash.py", ALL_REDUCE)
        done = self.cluster.hpcctl("run", "-N", 3, "--stop-grace", "2s", "--env", "CRASH=1", "--",
                                   "python", script,
                                   check=False, timeout=120)
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertIn("rank 1", done.stderr)

    def test_a_rank_that_does_not_arrive_is_named(self):
        script = self.cluster.script("absent.py",
            "import os, time\nif os.environ['RANK'] == '2': time.sleep(600)\n" + ALL_REDUCE)
        run = self.cluster.submit("-N", 3, "--stop-grace", "1s", "--", "python", script)
        self.cluster.wait_state(run, "running")
        eventually(lambda: "rank 2" in self.cluster.hpcctl("why", run).stdout,
                   "why names rank 2", 60)
        eventually(lambda: any("rank 2 on pc3 has not reached the rendezvous" in e["text"] and
                               e["kind"] == "run.rendezvous-late" for e in self.cluster.events()),
                   "an event names rank 2", 60)
        self.cluster.hpcctl("cancel", run)
        self.cluster.wait_state(run, "cancelled", timeout=60)

    def test_the_example_trains(self):
        done = self.cluster.hpcctl("run", "-N", 3, "--", "python", ROOT / "examples/ddp_digits.py",
                                   timeout=150)
        self.assertIn("accuracy", done.stdout)
        run = self.cluster.json("runs")[0]
        self.assertEqual(run["state"], "succeeded")
        self.assertTrue(self.cluster.json("metrics", run["id"]))


if __name__ == "__main__":
    unittest.main()
