"""Everything about a run can be read back, while we run and by anybody."""

import json
import pathlib
import sqlite3
import subprocess
import time
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
        self.assertEqual(len(self.cluster.json("metrics", run)), 24)
        points = self.cluster.json("metrics", run, "--key", "loss")
        self.assertEqual(len(points), 12)
        by_step = [p["value"] for p in points if p["rank"] == 1]
        self.assertEqual(by_step, [1.0, 0.5, 1 / 3, 0.25, 0.2, "NaN"])
        self.assertEqual(self.cluster.json("metrics", run, "--key", "big")[0]["value"], "Infinity")

    def test_a_thousand_points_a_second_are_all_stored_in_order(self):
        script = self.cluster.script("many.py", (
            "import hpc, time\n"
            "for step in range(500):\n"
            "    hpc.log(step=step, loss=step / 2)\n"
            "    time.sleep(0.004)\n"))
        run = self.cluster.submit("-N", 2, "--ranks-per-node", 2, "--", "python3", script)
        self.cluster.wait_state(run, "succeeded")
        points = self.cluster.json("metrics", run)
        for rank in range(4):
            steps = [(p["step"], p["value"]) for p in points if p["rank"] == rank]
            self.assertEqual(steps, [(step, step / 2) for step in range(500)])

    def test_metrics_that_cannot_be_read_are_told_to_the_user(self):
        script = self.cluster.script("bad.py", (
            "import os\n"
            "with open(os.environ['HPC_METRICS_FILE'], 'a') as f:\n"
            "    f.write('{\"loss\": 1}\\n{\"loss\": \"high\"}\\n')\n"
            "    f.write('nonsense\\n' * 1000 + '{\"loss\": 2}\\n')\n"))
        self.cluster.hpcctl("run", "-N", 2, "--", "python3", script)
        run = self.cluster.json("runs")[0]["id"]
        self.assertEqual(len(self.cluster.json("metrics", run)), 4)
        events = [e for e in self.cluster.events("--run", run) if e["kind"] == "rank.metrics"]
        texts = [e["text"] for e in events if e["rank"] == 1]
        self.assertEqual(len(events), 4)
        self.assertIn("line 2 of its metrics file is dropped", texts[0])
        self.assertIn('the value of "loss" is not a number', texts[0])
        self.assertEqual(texts[1], "1001 lines of its metrics file were dropped in all")

    def test_a_metrics_file_that_its_program_begins_anew_loses_nothing(self):
        script = self.cluster.script("anew.py", (
            "import os, time\n"
            "path = os.environ['HPC_METRICS_FILE']\n"
            "def write(path, mode, *values):\n"
            "    with open(path, mode) as f:\n"
            "        for v in values: f.write('{\"v\": %d, \"a\": 0}\\n' % v)\n"
            "write(path, 'w', 1, 2, 3)\n"
            "time.sleep(0.6)\n"
            "write(path, 'w', 4)\n"
            "time.sleep(0.6)\n"
            "write(path + '.new', 'w', 5, 6)\n"
            "os.rename(path + '.new', path)\n"
            "write(path, 'a', 7)\n"))
        self.cluster.hpcctl("run", "--", "python3", script)
        run = self.cluster.json("runs")[0]["id"]
        self.assertEqual([p["value"] for p in self.cluster.json("metrics", run, "--key", "v")],
                         [1, 2, 3, 4, 5, 6, 7])
        texts = [e["text"] for e in self.cluster.events("--run", run)
                 if e["kind"] == "rank.metrics"]
        self.assertEqual(len(texts), 2)
        self.assertIn("its metrics file was cut from 51 bytes to 17", texts[0])
        self.assertEqual(texts[1], "its metrics file was cut or replaced 2 times in all")

    def test_a_point_has_the_time_at_which_it_was_written(self):
        script = self.cluster.script("late.py", (
            "import json, os, time, hpc\n"
            "times = {}\n"
            "for v in range(3):\n"
            "    times[v] = time.time()\n"
            "    hpc.log(v=v)\n"
            "    with open(os.environ['HPC_METRICS_FILE'], 'a') as f:\n"
            "        f.write('{\"w\": %d}\\n' % v)\n"
            "    time.sleep(1)\n"
            "print(json.dumps(times))\n"))
        run = self.cluster.submit("--", "python3", script)
        self.cluster.wait_state(run, "running")
        # For a while nobody takes the points.
        self.cluster.coordinator.kill()
        time.sleep(2)
        self.cluster.start_coordinator()
        self.cluster.wait_state(run, "succeeded")
        times = json.loads(self.cluster.hpcctl("logs", run, "--no-label").stdout)
        for key in "vw":
            points = self.cluster.sql("SELECT value, at FROM metric_points WHERE run=? AND key=?",
                                      run, key)
            self.assertEqual(len(points), 3)
            for point in points:
                self.assertAlmostEqual(point["at"] / 1e6, times[str(int(point["value"]))],
                                       delta=0.4, msg=key)

    def test_a_thousand_points_a_second_are_stored_without_slowing_the_ranks(self):
        script = self.cluster.script("fast.py", (
            "import time, hpc\n"
            "start = time.monotonic()\n"
            "for step in range(2000):\n"
            "    hpc.log(step=step, loss=step)\n"
            "print(time.monotonic() - start)\n"))
        done = self.cluster.hpcctl("run", "-N", 2, "--no-label", "--", "python3", script)
        # Each rank could write 2,000 points at its own pace, in far less than a second.
        self.assertTrue(all(float(line) < 1.0 for line in done.stdout.split()), done.stdout)
        run = self.cluster.json("runs")[0]["id"]
        stored = self.cluster.sql("SELECT count(*) AS n FROM metrics WHERE run=?", run)[0]["n"]
        self.assertEqual(stored, 4000)

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
        self.assertRegex(done.stderr, rb"^hpcctl: run \d+\nto stderr\n$")

    def test_a_line_that_is_written_in_parts_is_shown_whole(self):
        script = self.cluster.script("parts.py", (
            "import os\n"
            "print('cwd', os.getcwd(), 'attempt', os.environ['HPC_ATTEMPT'])\n"
            "raise SystemExit(os.environ['HPC_ATTEMPT'] == '1')\n"))
        client = self.cluster.start("run", "--max-restarts", 1, "--", "python3", script)
        self.assertEqual(client.wait(30), 0)
        lines = client.output().splitlines()
        for attempt in (1, 2):
            self.assertIn(f"cwd {self.cluster.dir} attempt {attempt}", lines)

    def test_a_prompt_is_shown_before_its_line_ends(self):
        client = self.cluster.start("run", "--", "sh", "-c", "printf 'ready? '; sleep 600")
        eventually(lambda: "ready? " in client.output(), "the prompt is shown", 10)
        client.terminate()

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

    def test_what_a_coordinator_was_killed_with_is_told_again(self):
        run = int(self.cluster.hpcctl("run", "--detach", "--", "sleep", "1000").stdout)
        added = "SELECT added FROM environments WHERE run=?"
        eventually(lambda: self.cluster.sql(added, run), "its environment is stored")
        self.cluster.coordinator.kill()
        with sqlite3.connect(self.cluster.dir / "coordinator/hpc.db") as db:
            db.execute("DELETE FROM environments WHERE run=?", [run])
        self.cluster.start_coordinator()
        eventually(lambda: self.cluster.sql(added, run), "it is stored again")
        self.cluster.hpcctl("cancel", run)
        self.cluster.hpcctl("wait", run, check=False)

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
        # A rank that is over before anybody hears of its start has a duration, too.
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


class HomeTest(ClusterTest):
    # As root ranks are of an account without a home, else of ours, which has none here.
    options = {"nodes": 1, "env": {"HOME": "/nowhere"}}

    def test_a_rank_whose_account_has_no_home_gets_one_that_goes_with_its_attempt(self):
        done = self.cluster.hpcctl("run", "--", "sh", "-c",
                                   'mkdir -p ~/.cache/ops && echo x > ~/.cache/ops/a && echo "$HOME"')
        run = self.cluster.json("runs")[0]["id"]
        home = pathlib.Path(done.stdout.strip())
        self.assertEqual(home, self.cluster.dir / f"pc1/attempts/{run}.1/ranks/home")
        eventually(lambda: not home.exists(), "it is removed")
        self.assertIn(str(home), self.cluster.hpcctl("show", run, "--env").stdout)

    def test_a_home_that_the_user_names_is_left_alone(self):
        done = self.cluster.hpcctl("run", "--env", "HOME=/nowhere/else", "--", "sh", "-c",
                                   'echo "$HOME"; ls -A "${HPC_METRICS_FILE%/*}"')
        home, *beside_its_metrics = done.stdout.splitlines()
        self.assertEqual(home, "/nowhere/else")
        self.assertNotIn("home", beside_its_metrics)


if __name__ == "__main__":
    unittest.main()
