"""Runs of -N 2:3: they start with what is there, go on with what is left, and grow again."""

import unittest

from harness.cluster import ClusterTest
from harness.process import eventually

# Announces a checkpoint as long as one file is there, until another file is.
TRAIN = """#!/bin/sh
echo "rank $RANK of $WORLD_SIZE, restart $HPC_RESTART_COUNT" >> {dir}/starts
while [ ! -e {dir}/done ]; do
  [ -e {dir}/saving ] && echo '{{"checkpoint_saved": 1}}' >> "$HPC_METRICS_FILE"
  sleep 0.1
done
"""


class ElasticTest(ClusterTest):
    options = {"nodes": 3, "coordinator_args": ("--grow-steady", "1s", "--last-call", "0.5s")}

    def setUp(self):
        self.dir = self.cluster.dir / self._testMethodName
        self.dir.mkdir()
        self.dir.chmod(0o777)
        self.script = self.cluster.script("train.sh", TRAIN.format(dir=self.dir))

    def submit(self, *args):
        run = self.cluster.submit(*args, "--stop-grace", "1s", "--", self.script)
        self.addCleanup(self.cluster.hpcctl, "cancel", run)
        return run

    def running_on(self, run, *nodes):
        def holds():
            shown = self.cluster.json("show", run)
            newest = len(shown["attempts"])
            on = [p["node"] for p in shown["placements"] if p["attempt"] == newest]
            return shown["run"]["state"] == "running" and sorted(on) == sorted(nodes)
        return eventually(holds, f"run {run} is on {nodes}")

    def outcomes(self, run):
        return [a["outcome"] for a in self.cluster.json("show", run)["attempts"]]

    def finish(self, run):
        (self.dir / "done").touch()
        self.cluster.wait_state(run, "succeeded")

    def test_shrinks_when_a_pc_is_reclaimed_and_grows_when_it_is_back(self):
        run = self.submit("-N", "2:3", "--grow", "now")
        self.running_on(run, "pc1", "pc2", "pc3")
        self.cluster.hpcctl("reclaim", "pc2")
        self.running_on(run, "pc1", "pc3")
        self.cluster.hpcctl("lend", "pc2")
        eventually(lambda: "may grow from 2 to 3 nodes with pc2" in
                   self.cluster.hpcctl("why", run).stdout, "why tells of it")
        self.running_on(run, "pc1", "pc2", "pc3")
        self.finish(run)
        shown = self.cluster.json("show", run)["run"]
        self.assertEqual(self.outcomes(run), ["reclaimed", "grown", "succeeded"])
        self.assertEqual((shown["failures"], shown["losses"]), (0, 0))
        starts = (self.dir / "starts").read_text()
        for line in ("rank 2 of 3, restart 0", "rank 1 of 2, restart 1", "rank 2 of 3, restart 2"):
            self.assertIn(line, starts)

    def test_grows_at_a_checkpoint_and_not_before(self):
        self.cluster.hpcctl("reclaim", "pc3")
        run = self.submit("-N", "2:3")
        self.running_on(run, "pc1", "pc2")
        self.cluster.hpcctl("lend", "pc3")
        eventually(lambda: "at the next checkpoint that it tells of" in
                   self.cluster.hpcctl("why", run).stdout, "it waits for a checkpoint")
        self.running_on(run, "pc1", "pc2")
        (self.dir / "saving").touch()
        self.running_on(run, "pc1", "pc2", "pc3")
        (self.dir / "saving").unlink()
        self.finish(run)
        self.assertEqual(self.outcomes(run), ["grown", "succeeded"])
        self.assertIn("grows from 2 to 3 nodes with pc3, at a checkpoint",
                      self.cluster.hpcctl("why", run).stdout)

    def test_never_grows_only_when_it_starts_again_anyway(self):
        self.cluster.hpcctl("reclaim", "pc3")
        run = self.submit("-N", "1:3", "--grow", "never")
        self.running_on(run, "pc1", "pc2")
        self.cluster.hpcctl("lend", "pc3")
        (self.dir / "saving").touch()
        eventually(lambda: self.cluster.json("metrics", run), "a checkpoint was told of")
        self.cluster.hpcctl("reclaim", "pc1")
        self.running_on(run, "pc2", "pc3")
        self.cluster.hpcctl("lend", "pc1")
        self.finish(run)
        self.assertEqual(self.outcomes(run), ["reclaimed", "succeeded"])


if __name__ == "__main__":
    unittest.main()
