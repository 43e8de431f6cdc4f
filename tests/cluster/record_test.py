"""Everything about a run can be read back, while we run and by anybody."""

import json
import subprocess
import unittest

from harness.cluster import BIN, ClusterTest
from harness.process import eventually


class RecordTest(ClusterTest):
    options = {"nodes": 2}

    def test_params_tags_environment_and_command_are_kept(self):
        self.cluster.hpcctl("run", "-N", 2, "--name", "first try", "--experiment", "digits",
                            "--param", "lr=0.1", "--param", "note=a=b", "--tag", "night", "--",
                            "python3", "-c", "print(1)")
        run = self.cluster.json("runs", "--experiment", "digits")[0]
        self.assertEqual(run["name"], "first try")
        params = self.cluster.sql("SELECT key, value FROM run_params WHERE run=?", run["id"])
        self.assertEqual({p["key"]: p["value"] for p in params}, {"lr": "0.1", "note": "a=b"})
        facts = self.cluster.sql("SELECT node, facts FROM environments WHERE run=?", run["id"])
        self.assertEqual({f["node"] for f in facts if "python" in json.loads(f["facts"])},
                         {"pc1", "pc2"})
        shown = self.cluster.hpcctl("show", run["id"]).stdout
        for text in ("first try", "digits", "lr", "night", "python3", "pc1", "pc2"):
            self.assertIn(text, shown)

    def test_the_code_state_is_kept(self):
        repo = self.cluster.dir / "repo"
        repo.mkdir()
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
        for command in (["init", "-q", "-b", "work"], ["commit", "-q", "--allow-empty", "-m", "x"]):
            subprocess.run([*git, *command], cwd=repo, check=True)
        (repo / "train.py").write_text("print('hello')\n")
        subprocess.run([*git, "add", "-A"], cwd=repo, check=True)
        self.cluster.hpcctl("run", "--", "python3", "train.py", cwd=repo)
        code = self.cluster.json("show", self.cluster.json("runs")[0]["id"])["spec"]["code"]
        self.assertEqual(code["branch"], "work")
        self.assertEqual(len(code["commit"]), 40)
        self.assertTrue(code["dirty"])
        self.assertIn("+print('hello')", code["diff"])

    def test_metrics_come_from_a_file_or_from_hpc_py(self):
        script = self.cluster.script("metrics.py", (
            "import os, hpc\n"
            "for step in range(5):\n"
            "    hpc.log(step=step, loss=1.0 / (step + 1), rank=hpc.rank())\n"
            "with open(os.environ['HPC_METRICS_FILE'], 'a') as f:\n"
            "    f.write('{\"step\": 5, \"loss\": NaN, \"big\": Infinity}\\n')\n"
            "    f.write('not json\\n')\n"))
        self.cluster.hpcctl("run", "-N", 2, "--", "python3", script)
        run = self.cluster.json("runs")[0]["id"]
        eventually(lambda: len(self.cluster.json("metrics", run)) == 24, "all points are stored")
        points = self.cluster.json("metrics", run, "--key", "loss")
        self.assertEqual(len(points), 12)
        by_step = [p["value"] for p in points if p["rank"] == 1]
        self.assertEqual(by_step, [1.0, 0.5, 1 / 3, 0.25, 0.2, "NaN"])
        self.assertEqual(self.cluster.json("metrics", run, "--key", "big")[0]["value"], "Infinity")

    def test_a_thousand_points_a_second_are_stored_without_slowing_the_ranks(self):
        script = self.cluster.script("fast.py", (
            "import time, hpc\n"
            "start = time.monotonic()\n"
            "for step in range(2000):\n"
            "    hpc.log(step=step, loss=step)\n"
            "print(time.monotonic() - start)\n"))
        done = self.cluster.hpcctl("run", "-N", 2, "--no-label", "--", "python3", script)
        # Each rank was free to write 2,000 points at its own pace: far below a second.
        self.assertTrue(all(float(line) < 1.0 for line in done.stdout.split()), done.stdout)
        run = self.cluster.json("runs")[0]["id"]
        eventually(lambda: self.cluster.sql("SELECT count(*) AS n FROM metrics WHERE run=?",
                                            run)[0]["n"] == 4000, "all points are stored")

    def test_output_comes_back_byte_for_byte(self):
        script = self.cluster.script("bytes.py", (
            "import os, sys\n"
            "data = bytes(range(256)) * 4000\n"
            "os.write(2, b'to stderr\\n')\n"
            "while data: data = data[os.write(1, data):]\n"))
        done = subprocess.run(
            [str(BIN / "hpcctl"), "run", "--no-label", "--", "python3", str(script)],
            capture_output=True, env=self.cluster.env, timeout=60, cwd=self.cluster.dir)
        self.assertEqual(done.stdout, bytes(range(256)) * 4000)
        self.assertEqual(done.stderr, b"to stderr\n")

    def test_logs_can_be_read_again_by_rank(self):
        self.cluster.hpcctl("run", "-N", 2, "--", "sh", "-c", "echo out $RANK; echo err $RANK >&2")
        run = self.cluster.json("runs")[0]["id"]
        self.assertEqual(self.cluster.hpcctl("logs", run, "--rank", 1, "--stdout-only",
                                             "--no-label").stdout, "out 1\n")

    def test_what_was_added_to_the_environment_is_recorded(self):
        self.cluster.hpcctl("run", "-N", 2, "--", "true")
        run = self.cluster.json("runs")[0]["id"]
        added = self.cluster.sql(
            "SELECT added FROM environments WHERE run=? AND node='pc1'", run)[0]["added"]
        keys = set(json.loads(added))
        self.assertTrue({"MASTER_ADDR", "WORLD_SIZE", "GLOO_SOCKET_IFNAME"} <= keys, keys)

    def test_a_rank_ran_as_long_as_its_supervisor_measured(self):
        script = self.cluster.script("clock.py", (
            "import os, time\n"
            "boot = time.clock_gettime(time.CLOCK_BOOTTIME)\n"
            "fields = open('/proc/self/stat').read().rsplit(') ', 1)[1].split()\n"
            "begun = int(fields[19]) / os.sysconf('SC_CLK_TCK')\n"
            "time.sleep(0.1 * (1 + int(os.environ['RANK'])))\n"
            "print(time.clock_gettime(time.CLOCK_BOOTTIME) - begun)\n"))
        done = self.cluster.hpcctl("run", "-N", 2, "--", "python3", script)
        said = {line.split("]")[0][-1]: float(line.split("]")[1])
                for line in done.stdout.splitlines()}
        run = self.cluster.json("runs")[0]["id"]
        for rank in self.cluster.sql("SELECT * FROM ranks WHERE run=?", run):
            took = (rank["ended_at"] - rank["started_at"]) / 1e6
            ran = said[str(rank["rank"])]
            self.assertTrue(ran - 0.02 < took < ran + 0.2, f"{took} stored, {ran} said")
        # One that is over before anybody hears of its start took its time too.
        self.cluster.hpcctl("run", "--", "true")
        run = self.cluster.json("runs")[0]["id"]
        rank = self.cluster.sql("SELECT * FROM ranks WHERE run=?", run)[0]
        self.assertGreater(rank["ended_at"] - rank["started_at"], 200)

    def test_every_decision_is_an_event_with_words(self):
        self.cluster.hpcctl("run", "--", "true")
        run = self.cluster.json("runs")[0]["id"]
        kinds = [e["kind"] for e in self.cluster.events("--run", run)]
        for kind in ("run.queued", "run.placed", "run.started", "run.succeeded"):
            self.assertIn(kind, kinds)


if __name__ == "__main__":
    unittest.main()
