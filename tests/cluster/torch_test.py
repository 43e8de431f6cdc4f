"""Real torch ranks on several PCs."""

import os
import re
import signal
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
    options = {"nodes": 3, "network": True, "coordinator_args": ("--grow-steady", "1s")}

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
        # It also says what rank 2 does instead.
        eventually(lambda: re.search(r"rank 2: python\S* \(\d+\) sleeps",
                                     self.cluster.hpcctl("why", run).stdout),
                   "why says what rank 2 does", 60)
        self.cluster.hpcctl("cancel", run)
        self.cluster.wait_state(run, "cancelled", timeout=60)

    def test_the_example_trains(self):
        done = self.cluster.hpcctl("run", "-N", 3, "--", "python", ROOT / "examples/ddp_digits.py",
                                   timeout=150)
        self.assertIn("accuracy", done.stdout)
        run = self.cluster.json("runs")[0]
        self.assertEqual(run["state"], "succeeded")
        self.assertTrue(self.cluster.json("metrics", run["id"]))

    def test_the_example_goes_on_where_a_rank_was_killed(self):
        run = self.cluster.submit("-N", 3, "--max-restarts", 1, "--stop-grace", "1s", "--",
                                  "python", ROOT / "examples/ddp_digits.py", "--epochs", 40)
        folder = self.cluster.dir / "pc2" / "runs" / str(run) / "checkpoints"
        eventually((folder / "digits.pt").exists, "pc2 has a checkpoint", 90)
        # This PC is like one that is new in the gang: it is given what the others have.
        ranks = self.cluster.json("show", run)["ranks"]
        os.kill(next(r["pid"] for r in ranks if r["rank"] == 1), signal.SIGKILL)
        self.cluster.wait_state(run, "starting", "queued", timeout=60)
        self.cluster.wait_state(run, "succeeded", timeout=150)
        output = self.cluster.hpcctl("logs", run).stdout
        resumed = re.search(r"resuming at step (\d+), epoch (\d+), with 3 ranks", output)
        self.assertTrue(resumed, output)
        step, epoch = map(int, resumed.groups())
        self.assertGreater(step, 0)
        self.assertEqual(step, (epoch - 1) * 15)  # 1,437 images, 3 ranks with 32 each
        self.assertIn("epoch 40/40", output)
        self.assertEqual(output.count("starting with 3 ranks"), 1)
        # The result of the run stays.
        self.assertTrue((folder / "digits.pt").exists())
        self.assertEqual([path.name for path in folder.iterdir()], ["digits.pt"])

    def test_the_example_grows_at_a_checkpoint_onto_a_pc_that_is_back(self):
        self.cluster.hpcctl("reclaim", "pc3")
        run = self.cluster.submit("-N", "2:3", "--stop-grace", "1s", "--", "python",
                                  ROOT / "examples/ddp_digits.py", "--epochs", 40)
        eventually(lambda: self.cluster.json("metrics", run), "it trains", 90)
        self.cluster.hpcctl("lend", "pc3")
        self.cluster.wait_state(run, "succeeded", timeout=150)
        output = self.cluster.hpcctl("logs", run).stdout
        self.assertIn("starting with 2 ranks", output)
        self.assertRegex(output, r"resuming at step \d+, epoch \d+, with 3 ranks")
        self.assertEqual([a["outcome"] for a in self.cluster.json("show", run)["attempts"]],
                         ["grown", "succeeded"])

    def test_the_example_goes_on_from_the_newest_checkpoint_with_fewer_ranks(self):
        shared = self.cluster.dir / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        folders = f"{shared}/$HPC_NODE"  # a folder for each PC
        train = f"exec python {ROOT}/examples/ddp_digits.py --checkpoint-dir {folders} --epochs "
        self.cluster.hpcctl("run", "-N", 3, "--", "sh", "-c", train + "3 --min-accuracy 0",
                            timeout=150)
        (shared / "pc1" / "digits.pt").unlink()
        done = self.cluster.hpcctl("run", "-N", 2, "--", "sh", "-c", train + "8", timeout=150)
        self.assertIn("resuming at step 45, epoch 4, with 2 ranks", done.stdout)


if __name__ == "__main__":
    unittest.main()
