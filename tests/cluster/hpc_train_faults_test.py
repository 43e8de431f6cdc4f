"""hpc-train when it is asked to stop, and when a rank is killed."""

import os
import signal
import unittest

from harness.process import eventually
from hpc_train_test import PROGRAM, DigitsTest


class HpcTrainFaultsTest(DigitsTest):
    def test_it_stops_within_a_step_when_it_is_asked_to(self):
        run = self.cluster.submit("-N", 4, "--", PROGRAM, "digits", "--data", self.data,
                                  "--epochs", 1000000)
        eventually(lambda: self.cluster.json("metrics", run), "it trains", 60)
        self.cluster.hpcctl("cancel", run)
        self.cluster.wait_state(run, "cancelled", timeout=25)  # less than the grace of 30 s
        self.assertIn('"stopped": true', self.cluster.hpcctl("logs", run).stdout)

    def test_it_goes_on_where_a_rank_was_killed(self):
        run = self.cluster.submit("-N", 4, "--max-restarts", 1, "--stop-grace", "1s", "--", PROGRAM,
                                  "digits", "--data", self.data, "--epochs", 150)
        folder = self.cluster.dir / "pc2" / "runs" / str(run) / "checkpoints"
        eventually(lambda: any(folder.glob("step-*/manifest.json")), "pc2 has a checkpoint", 60)
        ranks = self.cluster.json("show", run)["ranks"]
        os.kill(next(r["pid"] for r in ranks if r["rank"] == 1), signal.SIGKILL)
        self.cluster.wait_state(run, "succeeded", timeout=150)
        output = self.cluster.hpcctl("logs", run).stdout
        self.assertRegex(output, r"going on at step \d+, epoch \d+, from 4 ranks")
        self.assertIn(f'"samples": {150 * 1438}, ', output)
        self.assertTrue(any(metric["key"] == "checkpoint_saved"
                            for metric in self.cluster.json("metrics", run)))


if __name__ == "__main__":
    unittest.main()
