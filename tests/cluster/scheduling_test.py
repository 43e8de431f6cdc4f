"""Who runs when, and why not yet."""

import unittest

from harness.cluster import ClusterTest


class SchedulingTest(ClusterTest):
    options = {"nodes": 3}

    def tearDown(self):
        for run in self.cluster.json("runs"):
            if run["state"] in ("queued", "starting", "running"):
                self.cluster.hpcctl("cancel", run["id"], check=False)
                self.cluster.wait_state(run["id"], "cancelled", "succeeded", "failed")

    def nodes_of(self, run):
        return next(row["nodes"] for row in self.cluster.json("runs") if row["id"] == run)

    def test_more_nodes_than_exist_are_refused_with_what_exists(self):
        before = len(self.cluster.json("runs"))
        done = self.cluster.hpcctl("run", "-N", 9, "--", "true", check=False)
        self.assertEqual(done.returncode, 121, done.stderr)
        self.assertRegex(done.stderr, r"9.*3|3.*9")
        self.assertEqual(len(self.cluster.json("runs")), before)

    def test_nodes_that_exist_but_are_busy_queue_the_run_and_say_behind_what(self):
        first = self.cluster.submit("-N", 3, "--", "sleep", 60)
        self.cluster.wait_state(first, "running")
        second = self.cluster.submit("-N", 2, "--", "true")
        why = self.cluster.hpcctl("why", second).stdout
        self.assertIn(f"run {first}", why)
        self.cluster.hpcctl("cancel", first)
        self.cluster.wait_state(second, "succeeded")

    def test_an_unknown_node_is_refused_and_the_nearest_is_named(self):
        done = self.cluster.hpcctl("run", "--nodelist", "pc11", "--", "true", check=False)
        self.assertEqual(done.returncode, 121, done.stderr)
        self.assertIn("pc11", done.stderr)
        self.assertIn("pc1", done.stderr)

    def test_the_higher_priority_goes_first(self):
        blocker = self.cluster.submit("-N", 3, "--", "sleep", 60)
        self.cluster.wait_state(blocker, "running")
        low = self.cluster.submit("-N", 3, "--", "sleep", 60)
        high = self.cluster.submit("-N", 3, "--priority", 5, "--", "sleep", 60)
        self.cluster.hpcctl("cancel", blocker)
        self.cluster.wait_state(high, "running")
        self.assertEqual(self.cluster.run_state(low), "queued")

    def test_a_queued_run_is_held_changed_and_released(self):
        blocker = self.cluster.submit("-N", 3, "--", "sleep", 60)
        self.cluster.wait_state(blocker, "running")
        run = self.cluster.submit("-N", 3, "--", "sleep", 60)
        self.assertIn("running", self.cluster.hpcctl("hold", blocker, check=False).stderr)
        self.cluster.hpcctl("hold", run)
        self.cluster.hpcctl("change", run, "-N", 1, "--priority", 5)
        self.cluster.hpcctl("cancel", blocker)
        self.cluster.wait_state(blocker, "cancelled")
        later = self.cluster.submit("-N", 3, "--", "true")
        self.cluster.wait_state(later, "succeeded")
        self.assertEqual(self.cluster.run_state(run), "queued")
        self.assertIn(f"hpcctl release {run}", self.cluster.hpcctl("status").stdout)
        self.cluster.hpcctl("release", run)
        self.cluster.wait_state(run, "running")
        self.assertEqual(len(self.nodes_of(run)), 1)

    def test_an_elastic_run_gives_nodes_to_one_of_higher_priority(self):
        elastic = self.cluster.submit("-N", "1:3", "--grow", "now", "--", "sleep", 60)
        self.cluster.wait_state(elastic, "running")
        urgent = self.cluster.submit("-N", 2, "--priority", 5, "--", "sleep", 60)
        self.cluster.wait_state(urgent, "running")
        self.cluster.wait_state(elastic, "running")
        shown = self.cluster.json("show", elastic)
        self.assertEqual(shown["attempts"][0]["outcome"], "shrunk")
        self.assertEqual(len(self.nodes_of(elastic)), 1)
        self.assertEqual(shown["run"]["failures"], 0)

    def test_all_of_ones_runs_are_cancelled(self):
        runs = [self.cluster.submit("-N", 3, "--", "sleep", 60) for _ in range(3)]
        self.cluster.hpcctl("cancel", "--all")
        for run in runs:
            self.cluster.wait_state(run, "cancelled")

    def test_a_small_run_passes_a_waiting_gang_only_where_it_cannot_delay_it(self):
        blocker = self.cluster.submit("-N", 2, "--time-limit", "1h", "--", "sleep", 60)
        self.cluster.wait_state(blocker, "running")
        gang = self.cluster.submit("-N", 3, "--", "sleep", 60)
        endless = self.cluster.submit("--", "true")
        short = self.cluster.submit("--time-limit", "1m", "--", "true")
        self.cluster.wait_state(short, "succeeded")
        self.assertEqual(self.cluster.run_state(endless), "queued")
        self.assertEqual(self.cluster.run_state(gang), "queued")

    def test_a_run_after_another_waits_for_its_success(self):
        first = self.cluster.submit("--", "sleep", 1)
        second = self.cluster.submit("--after", first, "--", "true")
        self.assertEqual(self.cluster.run_state(second), "queued")
        self.cluster.wait_state(second, "succeeded")
        self.assertEqual(self.cluster.run_state(first), "succeeded")

    def test_a_run_after_one_that_failed_ends_with_the_reason(self):
        go = self.cluster.dir / "go"
        first = self.cluster.submit("--", "sh", "-c",
                                    f"while [ ! -e {go} ]; do sleep 0.05; done; exit 1")
        second = self.cluster.submit("--after", first, "--", "true")
        go.touch()
        self.cluster.wait_state(second, "failed")
        self.assertIn(f"run {first}", self.cluster.json("show", second)["run"]["reason"])
        late = self.cluster.hpcctl("run", "--after", first, "--", "true", check=False)
        self.assertEqual(late.returncode, 121, late.stderr)
        self.assertIn(f"run {first} ended as failed", late.stderr)
        self.assertEqual(self.cluster.json("runs")[0]["id"], second, "nothing was created")

    def test_an_elastic_run_starts_with_what_is_free(self):
        blocker = self.cluster.submit("-N", 1, "--", "sleep", 60)
        self.cluster.wait_state(blocker, "running")
        done = self.cluster.hpcctl("run", "-N", "1:3", "--no-label", "--", "sh", "-c",
                                   "echo $WORLD_SIZE")
        self.assertEqual(done.stdout.split(), ["2", "2"])


class SharedNodeTest(ClusterTest):
    options = {"nodes": 1, "cpu_slots": 2}

    def test_two_runs_share_a_pc_but_never_a_device(self):
        runs = [self.cluster.submit("--", "sleep", 60) for _ in range(3)]
        self.cluster.wait_state(runs[0], "running")
        self.cluster.wait_state(runs[1], "running")
        self.assertEqual(self.cluster.run_state(runs[2]), "queued")
        devices = self.cluster.sql("SELECT devices FROM placements WHERE run IN (?, ?)",
                                   runs[0], runs[1])
        self.assertEqual(sorted(d["devices"] for d in devices), ["[0]", "[1]"])
        for run in runs:
            self.cluster.hpcctl("cancel", run)


if __name__ == "__main__":
    unittest.main()
