"""The command line: bad input, reconnecting, detaching, many submissions."""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import termios
import time
import unittest

from harness.cluster import BIN, Cluster, ClusterTest
from harness.process import Process, eventually


def refuse(address, times):
    """Hangs up on so many who call there."""
    host, port = address.rsplit(":", 1)
    with socket.create_server((host, int(port))) as server:
        server.settimeout(20)
        for _ in range(times):
            server.accept()[0].close()


class CheckTest(ClusterTest):
    """What `hpcctl check` starts, and where; what it measures is in hpc_train_test.py."""

    options = {"nodes": 3}

    def check(self, *args):
        program = self.cluster.dir / "hpc-train"
        # Only the first rank ends by itself. A rank that ended before it had spoken would end it,
        # too.
        program.write_text('#!/bin/sh\n[ "$RANK" = 0 ] || exec sleep 60\n'
                           'echo "$WORLD_SIZE of $PWD: $*"\nexit 1\n')
        program.chmod(0o755)
        self.cluster.dir.chmod(0o755)
        return self.cluster.hpcctl("check", *args, "--program", program, check=False)

    def test_every_idle_pc_is_checked(self):
        done = self.check()
        self.assertEqual(done.stdout, "3 of /: check\n", done.stderr)
        self.assertEqual(done.returncode, 1)  # the program's exit code: something is wrong

    def test_a_pc_that_its_owner_has_is_left_alone(self):
        self.cluster.hpcctl("reclaim", "pc2")
        self.addCleanup(self.cluster.hpcctl, "lend", "pc2")
        done = self.check("--exclude", "pc3", "--json", "--largest-mib", 8)
        self.assertEqual(done.stdout, "1 of /: check --largest-mib 8 --json\n", done.stderr)
        done = self.check("--nodelist", "pc2")
        self.assertEqual(done.returncode, 121, done.stderr)
        self.assertIn("no such PC is idle", done.stderr)

    def test_a_pc_that_there_is_none_of_is_named(self):
        for args in (("--nodelist", "pc7"), ("--exclude", "pc7"), ("-N", 1, "--nodelist", "pc7")):
            done = self.check(*args)
            self.assertEqual(done.returncode, 121, done.stderr)
            self.assertIn("no node pc7; did you mean pc1?", done.stderr)

    def test_what_it_is_told_of_threads_and_devices_reaches_its_program(self):
        done = self.check("--threads", 2, "--device", "cpu")
        self.assertEqual(done.stdout, "3 of /: check --threads 2 --device cpu\n", done.stderr)

    def test_wrong_use_is_refused_before_anything_is_asked(self):
        for args, says in ((("--program", "./hpc-train"), "begin with /"),
                           (("-N", "none"), "none"),
                           (("--nodelist", "pc1", "--exclude", "pc1"), "both name pc1")):
            done = self.cluster.hpcctl("check", *args, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)

    def test_where_its_program_comes_from_is_said(self):
        done = self.cluster.hpcctl("check", "-N", 2, env={"PATH": "/bin"}, check=False)
        self.assertEqual(done.returncode, 127, done.stderr)
        self.assertIn("'hpc-train' was not found in PATH", done.stderr)
        self.assertIn("sudo deploy/install.sh train", done.stderr)
        done = self.cluster.hpcctl("check", "--program", "/srv/none/hpc-train", check=False)
        self.assertEqual(done.returncode, 127, done.stderr)
        self.assertIn("sudo deploy/install.sh train", done.stderr)


class BadInputTest(ClusterTest):
    options = {"nodes": 1}

    def refused(self, *args, code=2, says=()):
        before = self.cluster.json("status")["last_run"]
        done = self.cluster.hpcctl(*args, check=False)
        self.assertEqual(done.returncode, code, f"{args}: {done.stdout}{done.stderr}")
        for text in says:
            self.assertIn(text, done.stderr)
        self.assertEqual(self.cluster.json("status")["last_run"], before, "a run was made")

    def test_each_wrong_use_has_its_own_error(self):
        self.refused("run", "-N", "3:2", "--", "true", says=["3:2"])
        self.refused("run", "-N", "0", "--", "true", says=["-N"])
        self.refused("run", "-N", "many", "--", "true", says=["many"])
        self.refused("run", "--time-limit", "banana", "--", "true", says=["banana", "1h30m"])
        self.refused("run", "--param", "lr", "--", "true", says=["lr", "key=value"])
        self.refused("run", says=["command"])
        self.refused("run", "--priority", "high", "--", "true", says=["high"])
        self.refused("lgos", "1", says=["lgos", "logs"])
        self.refused("run", "--nodelsit", "pc1", "--", "true", says=["--nodelsit", "--nodelist"])
        self.refused("show", says=["RUN"])

    def test_what_the_coordinator_does_not_know_is_named(self):
        self.refused("show", "999", code=121, says=["999"])
        self.refused("cancel", "999", code=121, says=["999"])
        self.refused("cancel", "banana", code=121, says=["banana"])
        self.refused("cancel", "0", says=["at least 1"])
        self.refused("reclaim", "pc9", code=121, says=["pc9", "pc1"])
        self.refused("run", "--after", "999", "--", "true", code=121, says=["999"])

    def test_text_that_is_not_utf8_is_refused(self):
        done = self.cluster.hpcctl("run", "--name", "a\udcffb", "--", "true", check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("UTF-8", done.stderr)
        for args in (("lend", "pc\udcff"), ("why", "pc\udcff"), ("metrics", 1, "--key", "\udcff"),
                     ("events", "--node", "\udcff"), ("runs", "--tag", "\udcff"),
                     ("reclaim", "pc1", "--reason", "\udcff")):
            done = self.cluster.hpcctl(*args, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(" is not valid UTF-8 (byte 0xff at ", done.stderr)

    def test_ten_megabytes_of_arguments_work_or_are_refused_by_size(self):
        args = ["x" * 100_000] * 19
        done = self.cluster.hpcctl("run", "--", "true", *args)
        self.assertEqual(done.returncode, 0)
        lines = json.dumps({"command": ["true", "x" * (11 << 20)]}) + "\n"
        done = self.cluster.hpcctl("submit", "-", stdin=lines, check=False)
        self.assertIn("error", done.stdout)

    def test_a_line_that_is_too_long_is_named_and_does_not_stop_the_others(self):
        good = json.dumps({"command": ["true"]}) + "\n"
        done = self.cluster.hpcctl("submit", "-", stdin=good + "x" * (40 << 20) + "\n" + good,
                                   check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        first, second, third = map(json.loads, done.stdout.splitlines())
        self.assertIn("id", first)
        self.assertEqual(second["line"], 2)
        self.assertIn(f"line 2 has {40 << 20} bytes, of which {32 << 20} are allowed",
                      second["error"])
        self.assertIn("id", third)

    def test_an_unreachable_coordinator_is_named(self):
        done = self.cluster.hpcctl("nodes", check=False,
                                   env={"HPC_COORDINATOR": "unix:/nowhere/hpc.sock"})
        self.assertEqual(done.returncode, 120)
        self.assertIn("/nowhere/hpc.sock", done.stderr)


class DaemonStartTest(unittest.TestCase):
    """What a daemon refuses to start with."""

    def setUp(self):
        self.cluster = Cluster(nodes=1)
        self.addCleanup(self.cluster.close)

    def fails(self, *argv):
        log = self.cluster.dir / "failing"
        log.unlink(missing_ok=True)
        process = Process(argv, log, env=self.cluster.env)
        self.assertNotEqual(process.wait(10), 0)
        return process.output()

    def test_one_state_directory_serves_one_daemon(self):
        out = self.fails(BIN / "hpc-coordinator", "--state-dir", self.cluster.dir / "coordinator",
                         "--listen", "127.0.0.1:0")
        self.assertIn(str(self.cluster.coordinator.pid), out)
        out = self.fails(BIN / "hpc-worker", "--state-dir", self.cluster.dir / "pc1")
        self.assertIn("in use", out)

    def test_a_port_serves_one_coordinator(self):
        out = self.fails(BIN / "hpc-coordinator", "--state-dir", self.cluster.dir / "second",
                         "--listen", self.cluster.listen, "--insecure")
        self.assertIn(self.cluster.listen, out)

    def test_only_the_key_of_its_own_cluster_is_taken_and_one_that_others_may_read_is_told(self):
        c = self.cluster
        c.coordinator.terminate()
        c.hpcctl("cluster", "init", "--state-dir", c.dir / "other")
        key = c.dir / "coordinator/keys/authority.key"
        own = key.read_bytes()
        key.write_bytes((c.dir / "other/keys/authority.key").read_bytes())
        out = self.fails(BIN / "hpc-coordinator", "--state-dir", c.dir / "coordinator",
                         "--socket", c.socket, "--listen", c.listen)
        self.assertIn("authority.key is not the key of this cluster", out)
        key.write_bytes(own)
        key.chmod(0o644)
        c.start_coordinator()
        self.assertIn("authority.key has mode 0644", c.coordinator.output())

    def test_a_foreign_directory_is_left_alone(self):
        foreign = self.cluster.dir / "thesis"
        foreign.mkdir()
        (foreign / "thesis.tex").write_text("x")
        out = self.fails(BIN / "hpc-coordinator", "--state-dir", foreign, "--listen", "127.0.0.1:0")
        self.assertIn(str(foreign), out)
        self.assertEqual(os.listdir(foreign), ["thesis.tex"])

    def test_a_damaged_database_is_refused_and_kept(self):
        self.cluster.coordinator.terminate()
        database = self.cluster.dir / "coordinator" / "hpc.db"
        database.write_bytes(b"garbage" * 1000)
        out = self.fails(BIN / "hpc-coordinator", "--state-dir", self.cluster.dir / "coordinator",
                         "--listen", "127.0.0.1:0")
        self.assertIn("hpc.db", out)
        self.assertEqual(database.read_bytes(), b"garbage" * 1000)

    def test_a_coordinator_that_has_lost_its_database_is_refused(self):
        self.cluster.hpcctl("run", "--", "echo", "old")
        self.cluster.coordinator.terminate()
        state = self.cluster.dir / "coordinator"
        for file in state.glob("hpc.db*"):
            file.unlink()
        out = self.fails(BIN / "hpc-coordinator", "--state-dir", state, "--listen", "127.0.0.1:0")
        self.assertIn(f"{state}/hpc.db is missing or empty", out)
        self.assertIn("hpc-coordinator restore FILE", out)
        self.assertEqual([file.name for file in state.glob("hpc.db*")], [])

    def test_a_database_that_is_deleted_meanwhile_stops_the_coordinator(self):
        (self.cluster.dir / "coordinator" / "hpc.db").unlink()
        client = self.cluster.start("run", "--detach", "--", "true")
        self.assertNotEqual(self.cluster.coordinator.wait(10), 0)
        # The client may have been told why, or may still be trying. Either way it was given no
        # number.
        client.kill()
        self.assertNotRegex(client.output(), r"(?m)^\d+$")
        self.assertIn("was deleted or replaced while it is in use",
                      self.cluster.coordinator.output())

    def test_a_coordinator_without_keys_says_how_they_are_made(self):
        out = self.fails(BIN / "hpc-coordinator", "--state-dir", self.cluster.dir / "plain",
                         "--listen", "127.0.0.1:0")
        self.assertIn("hpcctl cluster init", out)

    def test_plain_text_is_for_loopback_only(self):
        out = self.fails(BIN / "hpc-coordinator", "--state-dir", self.cluster.dir / "plain",
                         "--listen", "0.0.0.0:0", "--insecure")
        self.assertIn("loopback", out)

    def test_two_workers_of_one_name_are_told_apart(self):
        # A copied disk: the same certificate on a second PC.
        shutil.copytree(self.cluster.dir / "pc1", self.cluster.dir / "twin",
                        ignore=shutil.ignore_patterns("*.sock", "attempts"))
        other = Process([BIN / "hpc-worker", "--state-dir", self.cluster.dir / "twin"],
                        self.cluster.dir / "twin.log", env=self.cluster.env)
        self.addCleanup(other.kill)
        eventually(lambda: "127.0.0.11" in other.output(), "the twin is refused by name")
        self.assertEqual(self.cluster.node("pc1")["state"], "idle")


class ReconnectTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=2)
        self.addCleanup(self.cluster.close)

    def test_a_waiting_client_survives_a_coordinator_that_is_killed(self):
        script = self.cluster.script("count.sh", "#!/bin/sh\n"
            "i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.1; done\n")
        client = self.cluster.start("run", "-N", 2, "--", script)
        eventually(lambda: "line 5" in client.output(), "output flows")
        eventually(lambda: self.cluster.json("runs")[0]["state"] == "running", "all ranks run")
        self.cluster.restart_coordinator()
        self.assertEqual(client.wait(30), 0, client.output())
        out = client.output()
        for rank in range(2):
            lines = [l.split()[-1] for l in out.splitlines()
                     if " line " in l and l.startswith(f"[{rank}")]
            self.assertEqual(lines, [str(i) for i in range(40)], out)

    def test_clients_over_the_network_are_back_as_soon_as_the_coordinator(self):
        laptop = {"XDG_CONFIG_HOME": str(self.cluster.dir / "laptop"),
                  "HPC_COORDINATOR": self.cluster.listen}
        self.cluster.hpcctl("login", self.cluster.make_token("--role", "admin"), "--name", "anna",
                            env=laptop)
        run = self.cluster.submit("-N", 2, "--", "sh", "-c", "echo up; sleep 6")
        clients = [self.cluster.start(*command, env=laptop, name=command[0])
                   for command in (("wait", run), ("logs", "-f", run), ("events", "-f"))]
        for client in clients[1:]:
            eventually(client.output, "it has connected")
        self.cluster.coordinator.kill()
        refuse(self.cluster.listen, 3 * len(clients))
        self.cluster.start_coordinator()
        self.assertEqual(clients[0].wait(12), 0, clients[0].output())
        self.assertEqual(clients[1].wait(2), 0, clients[1].output())
        eventually(lambda: "exited 0" in clients[2].output(), "the events go on", 5)
        started = [e for e in self.cluster.json("events") if e["kind"] == "cluster.started"]
        self.assertEqual(len(started), 2, started)

    def test_a_cancel_that_the_coordinator_did_not_hear_is_said_to_be_none(self):
        client = self.cluster.start("run", "--", "sh", "-c", "echo up; sleep 60")
        eventually(lambda: "up" in client.output(), "the rank runs")
        self.cluster.coordinator.kill()
        client.signal(signal.SIGINT)
        eventually(lambda: "cancelling run 1" in client.output(), "the wish was noticed")
        client.signal(signal.SIGINT)
        self.assertEqual(client.wait(10), 123, client.output())
        self.assertIn("left run 1, which GOES ON", client.output())
        self.cluster.start_coordinator()
        self.cluster.hpcctl("cancel", 1)
        self.cluster.wait_state(1, "cancelled")

    def test_ctrl_c_cancels_and_a_second_one_detaches(self):
        client = self.cluster.start("run", "--stop-grace", "30s", "--", "sh", "-c",
                                    "trap '' TERM INT; echo up; while :; do sleep 0.1; done")
        eventually(lambda: "up" in client.output(), "the rank runs")
        client.signal(signal.SIGINT)
        eventually(lambda: self.cluster.json("runs")[0]["cancel_requested"], "the wish arrived")
        self.assertTrue(client.alive())
        client.signal(signal.SIGINT)
        self.assertEqual(client.wait(5), 123)

    def test_a_terminal_that_closes_with_ctrl_c_does_not_keep_the_cancel_from_being_heard(self):
        for again in range(3):
            client = self.cluster.start("run", "--", "sh", "-c", "echo up; sleep 1000")
            eventually(lambda: "up" in client.output(), "the rank runs")
            client.signal(signal.SIGINT)
            client.signal(signal.SIGHUP)
            client.wait(10)
            self.assertTrue(self.cluster.json("runs")[0]["cancel_requested"], again)
        alone = self.cluster.start("run", "--", "sh", "-c", "echo up; sleep 1000")
        eventually(lambda: "up" in alone.output(), "the rank runs")
        alone.signal(signal.SIGHUP)
        self.assertEqual(alone.wait(10), -signal.SIGHUP)
        self.assertFalse(self.cluster.json("runs")[0]["cancel_requested"])
        self.cluster.hpcctl("cancel", "last")

    def test_ctrl_c_is_a_keyboard_interrupt_and_a_cancel_is_sigterm(self):
        code = ("import signal, sys, time\n"
                "signal.signal(signal.SIGTERM, lambda *_: sys.exit('told'))\n"
                "try:\n"
                "  print('up')\n"
                "  time.sleep(1000)\n"
                "except KeyboardInterrupt:\n"
                "  time.sleep(0.2); print('interrupted')\n")
        typed = self.cluster.start("run", "--", "sh", "-c", f'python3 -uc "{code}"; true')
        eventually(lambda: "up" in typed.output(), "the rank runs")
        typed.signal(signal.SIGINT)
        typed.wait(10)
        self.assertIn("interrupted", typed.output())
        run = self.cluster.submit("--", "python3", "-uc", code)
        eventually(lambda: "up" in self.cluster.hpcctl("logs", run).stdout, "the rank runs")
        self.cluster.hpcctl("cancel", run)
        self.cluster.hpcctl("wait", run, check=False)
        said = self.cluster.hpcctl("logs", run)
        self.assertIn("told", said.stdout + said.stderr)

    def test_a_run_is_known_by_its_name_and_the_last_one_as_such(self):
        first = self.cluster.submit("--name", "digits", "--", "echo", "one")
        last = self.cluster.submit("--name", "letters", "--", "echo", "two")
        self.cluster.hpcctl("wait", "digits", "last")
        self.assertEqual(self.cluster.hpcctl("logs", "digits").stdout, "one\n")
        self.assertEqual(self.cluster.hpcctl("logs", "last").stdout, "two\n")
        self.assertIn(f"run {first}:", self.cluster.hpcctl("why", "digits").stdout)
        self.assertIn(f"run {last}:", self.cluster.hpcctl("why", "last").stdout)
        none = self.cluster.hpcctl("show", "digitz", check=False)
        self.assertIn("no run has the name or number 'digitz'", none.stderr)

    def test_a_run_comes_after_one_that_is_named(self):
        first = self.cluster.submit("--hold", "--name", "prepare", "--", "true")
        run = self.cluster.submit("--after", "prepare", "--", "true")
        self.assertRegex(self.cluster.hpcctl("show", run).stdout, f"After run +{first}\n")
        self.cluster.hpcctl("cancel", run, first)
        none = self.cluster.hpcctl("run", "--after", "nothing", "--", "true", check=False)
        self.assertEqual(none.returncode, 121)
        self.assertIn("no run has the name or number 'nothing'", none.stderr)

    def test_who_follows_a_run_that_is_held_hears_that(self):
        run = self.cluster.submit("--hold", "--", "echo", "came")
        follower = self.cluster.start("logs", "-f", run)
        eventually(lambda: "held" in follower.output(), "the follower was told")
        self.cluster.hpcctl("release", run)
        self.assertEqual(follower.wait(20), 0)
        self.assertIn("came", follower.output())

    def test_ranks_have_the_umask_of_the_shell_that_asks(self):
        def umask(mask, *options):
            return subprocess.run(["sh", "-c", f'umask {mask}; exec "$@"', "sh", BIN / "hpcctl", "run",
                                   *options, "--", "sh", "-c", "umask"], env=self.cluster.env,
                                  capture_output=True, text=True, check=True).stdout
        self.assertEqual(umask("022"), "0022\n")
        self.assertEqual(umask("077"), "0077\n")
        self.assertEqual(umask("077", "--umask", "002"), "0002\n")

    def test_a_run_may_have_a_stop_signal_of_its_own(self):
        run = self.cluster.submit("--stop-signal", "usr1", "--", "sh", "-c",
                                  "trap 'echo saving; exit' USR1; echo up; while :; do sleep 0.1; done")
        self.assertRegex(self.cluster.hpcctl("show", run).stdout, "Stop signal +usr1")
        eventually(lambda: "up" in self.cluster.hpcctl("logs", run).stdout, "the rank runs")
        self.cluster.hpcctl("cancel", run)
        self.cluster.hpcctl("wait", run, check=False)
        self.assertIn("saving", self.cluster.hpcctl("logs", run).stdout)

    def test_of_several_runs_that_are_cancelled_none_starts(self):
        marks = self.cluster.dir / "marks"
        marks.mkdir(mode=0o777)
        marks.chmod(0o777)
        lines = "".join(json.dumps({"command": ["sh", "-c", f"touch {marks}/$HPC_RUN_ID; sleep 1000"],
                                    "nodes": nodes}) + "\n" for nodes in ["2"] + ["1", "2"] * 15)
        done = self.cluster.hpcctl("submit", "-", stdin=lines)
        runs = [json.loads(line)["id"] for line in done.stdout.splitlines()]
        eventually(lambda: (marks / "1").exists(), "the first runs")
        self.cluster.hpcctl("cancel", *runs)
        self.cluster.hpcctl("wait", *runs, check=False)
        self.assertEqual([p.name for p in marks.iterdir()], ["1"])
        self.assertEqual({r["attempts"] for r in self.cluster.json("runs") if r["id"] != 1}, {0})

    def test_that_output_cannot_be_written_is_told_at_once(self):
        command = f"exec {BIN}/hpcctl run -- sh -c 'while echo again; do sleep 0.05; done' >/dev/full"
        client = Process(["sh", "-c", command], self.cluster.dir / "said", env=self.cluster.env)
        eventually(lambda: "No space left on device: run 1 goes on" in client.output(), "it is told")
        self.assertTrue(client.alive())
        self.cluster.hpcctl("cancel", 1)
        self.assertEqual(client.wait(10), 1)

    def test_who_follows_leaves_where_the_output_cannot_be_written(self):
        run = self.cluster.submit("--", "sh", "-c", "echo said; sleep 1000")
        for words in (f"logs {run} -f", "events -f", "events -f --json"):
            with self.subTest(words):
                client = Process(["sh", "-c", f"exec {BIN}/hpcctl {words} >/dev/full"],
                                 self.cluster.dir / "said", env=self.cluster.env)
                self.assertEqual(client.wait(10), 1)
                self.assertIn("No space left on device", client.output())

    def test_two_signals_at_once_leave_no_run_behind(self):
        # Sends the signals as timeout(1) does.
        for turn in range(5):
            client = self.cluster.start("run", "--", "sleep", 1000, name=f"client{turn}")
            eventually(lambda: "run " in client.output(), "it is submitted")
            client.signal(signal.SIGTERM)
            client.signal(signal.SIGTERM)
            client.wait(5)
            run = self.cluster.json("runs")[0]["id"]
            self.cluster.wait_state(run, "cancelled")

    def test_many_submissions_on_one_stream(self):
        lines = "".join(json.dumps({"name": f"r{i}", "command": ["true"]}) + "\n" for i in range(50))
        done = self.cluster.hpcctl("submit", "-", stdin=lines + '{"comand": ["true"]}\n', check=False)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([a["id"] for a in answers[:50]], list(range(1, 51)))
        self.assertIn("comand", answers[50]["error"])
        eventually(lambda: all(r["state"] == "succeeded" for r in self.cluster.json("runs")),
                   "all ran")


class UnreadOutputTest(ClusterTest):
    """Whoever reads our output has stopped doing so."""

    options = {"nodes": 1}

    def unread(self, stderr_too=False):
        """A client whose output has filled a pipe that nobody reads, the file of its stderr, and
        the number of its run."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        words = open(self.cluster.dir / f"{self.id()}.stderr", "w+")
        self.addCleanup(words.close)
        client = subprocess.Popen([str(BIN / "hpcctl"), "run", "--", "yes"], stdout=writer,
                                  stderr=writer if stderr_too else words, env=self.cluster.env)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        size = fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ)
        os.close(writer)
        filled = lambda: int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), "little")
        eventually(lambda: filled() > size - 4096, "the pipe is full")
        return client, words, self.cluster.json("runs")[0]["id"]

    def test_two_signals_leave_all_the_same(self):
        for stderr_too in (False, True):
            with self.subTest(stderr_too=stderr_too):
                client, words, run = self.unread(stderr_too)
                client.send_signal(signal.SIGINT)
                self.cluster.wait_state(run, "cancelled")
                client.send_signal(signal.SIGINT)
                self.assertEqual(client.wait(5), 123)
                words.seek(0)
                said = words.read()
                if not stderr_too:
                    self.assertIn(f"left run {run}, which is being cancelled", said)

    def test_after_one_signal_it_is_not_waited_for_long(self):
        client, words, run = self.unread()
        client.send_signal(signal.SIGTERM)
        self.cluster.wait_state(run, "cancelled")
        self.assertEqual(client.wait(10), 1)
        words.seek(0)
        said = words.read()
        self.assertIn(f"run {run} cancelled", said)
        self.assertIn("nobody has read any of it for 2 s", said)


class ExitCodeTest(ClusterTest):
    """The table of docs/CLI.md."""

    options = {"nodes": 2}

    def exits(self, code, *args, says="", env=None):
        done = self.cluster.hpcctl(*args, check=False, env=env)
        self.assertEqual(done.returncode, code, f"{args}: {done.stdout}{done.stderr}")
        self.assertIn(says, done.stderr)

    def test_the_runs_own(self):
        self.exits(0, "run", "-N", 2, "--", "true")
        self.exits(7, "run", "-N", 2, "--", "sh", "-c", "exit 7")
        self.exits(137, "run", "--", "sh", "-c", "kill -9 $$")
        self.exits(7, "wait", self.cluster.submit("--", "sh", "-c", "exit 7"))

    def test_a_command_that_cannot_be_executed(self):
        self.exits(127, "run", "--", "no-such-program", says="no-such-program")
        self.exits(126, "run", "--", "/etc/passwd", says="/etc/passwd")
        self.exits(126, "run", "--", "/tmp", says="/tmp")

    def test_a_run_that_cannot_be_run(self):
        self.exits(125, "run", "--workdir", "/nowhere", "--", "true", says="/nowhere does not exist")
        self.exits(125, "run", "--workdir", "/etc/passwd", "--", "true", says="not a directory")

    def test_a_run_that_was_ended(self):
        self.exits(124, "run", "--time-limit", "0.3s", "--", "sleep", "30", says="time limit")
        run = self.cluster.submit("--", "sleep", "30")
        self.cluster.hpcctl("cancel", run)
        self.exits(122, "wait", run, says="cancelled")

    def test_what_was_not_understood_refused_or_not_reached(self):
        self.exits(2, "nodes", "--bogus", says="--bogus")
        self.exits(2, "run", "--time-limit", "banana", "--", "true")
        self.exits(121, "show", 999, says="999")
        self.exits(121, "run", "-N", 9, "--", "true", says="9 nodes")
        self.exits(120, "nodes", env={"HPC_COORDINATOR": "unix:/nowhere/hpc.sock"})

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([str(BIN / "hpcctl"), "nodes"], stdout=full, env=self.cluster.env,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("No space left", done.stderr)


class MoveTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(nodes=3)
        self.addCleanup(self.cluster.close)

    def test_a_run_that_moves_to_other_nodes_says_why_and_where(self):
        client = self.cluster.start("run", "-N", 2, "--", "sh", "-c",
                                    "[ $HPC_ATTEMPT = 2 ] && exit; echo up; sleep 60")
        eventually(lambda: client.output().count("up") == 2, "it runs")
        self.cluster.hpcctl("reclaim", "pc2", "--reason", "gaming")
        self.assertEqual(client.wait(30), 0, client.output())
        lines = [l for l in client.output().splitlines() if l.startswith("hpcctl:")]
        self.assertEqual(len(lines), 2, client.output())
        self.assertEqual(lines[0], "hpcctl: run 1")
        for words in ("run 1: attempt 1 ended: pc2 was reclaimed", "gaming",
                      "attempt 2 starts on pc1 and pc3"):
            self.assertIn(words, lines[1])

    def test_our_own_lines_begin_where_a_ranks_line_ends(self):
        client = self.cluster.start("run", "--nodelist", "pc1,pc2", "--", "sh", "-c",
                                    "printf half; [ $HPC_ATTEMPT = 2 ] && exit 3; sleep 60")
        eventually(lambda: "half" in client.output(), "it runs")
        self.cluster.hpcctl("reclaim", "pc1")
        self.assertEqual(client.wait(30), 3, client.output())
        lines = client.output().splitlines()
        self.assertEqual([l for l in lines if "hpcctl:" in l],
                         [l for l in lines if l.startswith("hpcctl:")], client.output())

    def test_a_run_behind_others_says_what_it_waits_for(self):
        self.cluster.submit("-N", 3, "--", "sleep", "60")
        client = self.cluster.start("run", "-N", 2, "--", "true")
        eventually(lambda: "run 2 waits: needs 2 nodes" in client.output(), "it says so")
        self.cluster.hpcctl("cancel", 1)
        self.assertEqual(client.wait(30), 0, client.output())
        self.assertEqual(self.cluster.hpcctl("wait", 2).stderr, "", "that is long ago")


if __name__ == "__main__":
    unittest.main()
