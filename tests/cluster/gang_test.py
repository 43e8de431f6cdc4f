"""Gangs start together or not at all, and end together, with the true cause."""

import pathlib
import time
import unittest

from harness.cluster import ClusterTest
from harness.process import eventually

# In its first attempt, rank 0 ends with 75 some time after it has closed its connections to the
# others. They end with 1 as soon as that happens, and say nothing.
PEERS = """#!/usr/bin/env python3
import os, socket, sys, time
once, first = "{once}", int(os.environ["RANK"]) == 0
if os.path.exists(once):
    sys.exit(0)
others = int(os.environ["WORLD_SIZE"]) - 1
place = once + ".port"
if first:
    listener = socket.create_server(("127.0.0.1", 0))
    with open(place + ".part", "w") as file:
        file.write(str(listener.getsockname()[1]))
    os.rename(place + ".part", place)
    peers = [listener.accept()[0] for _ in range(others)]
    time.sleep(0.2)
    open(once, "w").close()
    if {closes_first}:
        for peer in peers:
            peer.close()
        time.sleep({closes_first})
    os._exit(75)
while not os.path.exists(place):
    time.sleep(0.01)
peer = socket.create_connection(("127.0.0.1", int(open(place).read())))
peer.recv(1)
os._exit(1)
"""


# Rank 0 ends at once. The other goes on until a file is there, and uses the rendezvous store all the
# time: on a connection that it has had from the beginning, and each time on a new one, too.
STORE = """#!/usr/bin/env python3
import os, socket, struct, time

class Store:
    def __init__(self):
        place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        self.socket = socket.create_connection(place)
        self.socket.sendall(struct.pack("<BI", 0, 0x3C85F7CE))

    def set_and_get(self, key, value):
        text = lambda text: struct.pack("<Q", len(text)) + text
        self.socket.sendall(b"\\1" + text(key) + text(value) + b"\\3" + text(key))
        answer = self.socket.recv(8 + len(value), socket.MSG_WAITALL)
        assert answer == text(value), answer

if os.environ["RANK"] == "1":
    first = Store()
    number = 0
    while not os.path.exists("{over}"):
        number += 1
        for store in first, Store():
            store.set_and_get(b"key", b"%d" % number)
        print(number, flush=True)
        time.sleep(0.02)
"""


class GangTest(ClusterTest):
    options = {"nodes": 4}

    def test_every_rank_gets_its_place(self):
        script = self.cluster.script("env.sh", "#!/bin/sh\n"
            'echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK'
            ' $GROUP_WORLD_SIZE $HPC_NODE"\n')
        done = self.cluster.hpcctl("run", "-N", 4, "--no-label", "--", script)
        lines = sorted(line.split() for line in done.stdout.splitlines())
        self.assertEqual([line[:6] for line in lines],
                         [[str(r), "0", "4", "1", str(r), "4"] for r in range(4)])
        self.assertEqual({line[6] for line in lines}, {"pc1", "pc2", "pc3", "pc4"})

    def test_ranks_are_woken_in_time_as_in_a_shell(self):
        done = self.cluster.hpcctl("run", "-N", 4, "--no-label", "--",
                                   "cat", "/proc/self/timerslack_ns")
        own = pathlib.Path("/proc/self/timerslack_ns").read_text()
        self.assertEqual(done.stdout, 4 * own)

    def test_output_is_labelled_by_rank_and_no_line_is_lost_or_mixed(self):
        script = self.cluster.script("lines.sh", "#!/bin/sh\n"
            "i=0; while [ $i -lt 500 ]; do echo rank $RANK line $i; i=$((i+1)); done\n")
        done = self.cluster.hpcctl("run", "-N", 4, "--", script)
        seen = {rank: [] for rank in range(4)}
        for line in done.stdout.splitlines():
            label, _, text = line.partition("] ")
            words = text.split()
            self.assertEqual(words[::2], ["rank", "line"], line)
            self.assertIn(words[1], label)
            seen[int(words[1])].append(int(words[3]))
        for rank in range(4):
            self.assertEqual(seen[rank], list(range(500)))

    def test_the_first_failure_ends_all_ranks_and_is_the_one_shown(self):
        script = self.cluster.script("fail.sh", "#!/bin/sh\n"
            'if [ "$RANK" = 2 ]; then echo "no such file: data.bin" >&2; exit 7; fi\n'
            "exec sleep 60\n")
        done = self.cluster.hpcctl("run", "-N", 4, "--", script, check=False)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("rank 2", done.stderr)
        self.assertIn("no such file: data.bin", done.stderr)
        run = self.cluster.json("runs")[0]["id"]
        exits = [e for e in self.cluster.json("why", run)["events"] if e["rank"] is not None]
        self.assertEqual((exits[0]["rank"], exits[0]["kind"]), (2, "rank.failed"))
        for ended in exits[1:]:
            self.assertIn("after it was told to end", ended["text"])

    def test_a_signal_is_128_plus_its_number(self):
        script = self.cluster.script("segv.sh", "#!/bin/sh\n[ $RANK = 1 ] && kill -SEGV $$\nsleep 60\n")
        done = self.cluster.hpcctl("run", "-N", 2, "--", script, check=False)
        self.assertEqual(done.returncode, 128 + 11, done.stderr)

    def test_a_python_failure_shows_its_traceback(self):
        script = self.cluster.script("record.py", (
            "import json, os, time\n"
            "if os.environ['RANK'] == '1':\n"
            "    with open(os.environ['TORCHELASTIC_ERROR_FILE'], 'w') as f:\n"
            "        json.dump({'message': {'message': 'ValueError: bad shape', 'extraInfo': {\n"
            "            'py_callstack': 'Traceback: train.py line 12', 'timestamp': '1'}}}, f)\n"
            "    raise SystemExit(1)\n"
            "time.sleep(60)\n"))
        done = self.cluster.hpcctl("run", "-N", 2, "--", "python3", script, check=False)
        self.assertEqual(done.returncode, 1)
        run = self.cluster.json("runs")[0]["id"]
        shown = self.cluster.hpcctl("show", run).stdout
        self.assertIn("ValueError: bad shape", shown)
        self.assertIn("train.py line 12", shown)

    def test_a_command_that_is_missing_on_one_node_starts_nothing_anywhere(self):
        done = self.cluster.hpcctl("run", "-N", 4, "--", "no-such-program", check=False)
        self.assertEqual(done.returncode, 127, done.stderr)
        self.assertIn("no-such-program", done.stderr)
        self.assertRegex(done.stderr, r"pc\d")
        run = self.cluster.json("runs")[0]["id"]
        self.assertEqual(self.cluster.sql("SELECT pid FROM ranks WHERE run=? AND pid>0", run), [])
        self.assertNotIn("hpcctl logs", done.stderr)
        self.assertIn("none of its ranks has run", self.cluster.hpcctl("logs", run).stderr)
        self.assertIn("cannot run it", self.cluster.hpcctl("why", run).stdout.split("\n\n")[1])

    def test_a_file_that_is_not_executable_is_named(self):
        path = self.cluster.dir / "plain.txt"
        path.write_text("x")
        done = self.cluster.hpcctl("run", "--", path, check=False)
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn(str(path), done.stderr)

    def test_a_script_that_cannot_be_executed_starts_nothing_and_is_named(self):
        for text, says in (("print(1)\n", "no #! line"),
                           ("#!/bin/sh\r\necho\r\n", "Windows line ends"),
                           ("#!/opt/gone/python\n", "'/opt/gone/python', which does not exist")):
            script = self.cluster.script("script.py", text)
            done = self.cluster.hpcctl("run", "--", "./script.py", check=False)
            self.assertEqual(done.returncode, 126, done.stderr)
            self.assertIn(f"'{script}'", done.stderr)
            self.assertIn(says, done.stderr)

    def test_a_failure_that_an_option_mends_names_the_option(self):
        script = self.cluster.script("old.py", (
            "import argparse\n"
            "parser = argparse.ArgumentParser()\n"
            "parser.add_argument('--local_rank', required=True)\n"
            "parser.parse_args()\n"))
        done = self.cluster.hpcctl("run", "--", "python3", script, check=False)
        self.assertIn("--legacy-local-rank=underscore", done.stderr)
        self.cluster.hpcctl("run", "--legacy-local-rank=underscore", "--", "python3", script)

    def test_a_working_directory_that_is_missing_is_named(self):
        done = self.cluster.hpcctl("run", "--workdir", "/nowhere/at/all", "--", "true", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/nowhere/at/all", done.stderr)

    def test_cancel_ends_ranks_that_ignore_sigterm(self):
        script = self.cluster.script("deaf.sh", "#!/bin/sh\ntrap '' TERM\n"
            "echo started\nwhile :; do sleep 0.1; done\n")
        run = self.cluster.submit("-N", 2, "--stop-grace", "0.5s", "--", script)
        self.cluster.wait_state(run, "running")
        self.cluster.hpcctl("cancel", run)
        self.cluster.wait_state(run, "cancelled", timeout=10)
        self.assertEqual(self.cluster.hpcctl("wait", run, check=False).returncode, 122)

    def test_a_time_limit_ends_a_run(self):
        done = self.cluster.hpcctl("run", "--time-limit", "1s", "--stop-grace", "1s", "--", "sleep",
                                   60, check=False)
        self.assertEqual(done.returncode, 124, done.stderr)
        why = self.cluster.hpcctl("why", self.cluster.json("runs")[0]["id"]).stdout
        headline, events = why.split("\n\n")
        for part in (headline, events):
            self.assertEqual(part.count("reached its time limit"), 1, why)

    def test_descendants_die_with_their_rank(self):
        marker = self.cluster.dir / "grandchild"
        script = self.cluster.script("orphan.sh", "#!/bin/sh\n"
            f"setsid sh -c 'echo $$ > {marker}; trap \"\" TERM; while :; do sleep 0.1; done' &\n"
            f"while [ ! -s {marker} ]; do sleep 0.02; done\nexit 0\n")
        self.cluster.hpcctl("run", "--", script)
        pid = int(marker.read_text())
        eventually(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "the grandchild is gone")

    def test_the_store_outlives_the_part_of_its_node_which_is_free_for_others(self):
        over = self.cluster.dir / "over"
        script = self.cluster.script("store.py", STORE.format(over=over))
        run = self.cluster.submit("-N", 2, "--", "python3", script)
        self.cluster.wait_state(run, "running")
        rank0 = lambda: self.cluster.json("show", run)["ranks"][0]
        eventually(lambda: "exit" in rank0(), "rank 0 has ended")
        self.cluster.hpcctl("run", "--nodelist", rank0()["node"], "--", "true")
        met = lambda: self.cluster.hpcctl("logs", run).stdout.count("\n")
        before = met()
        eventually(lambda: met() > before + 10, "the other rank goes on to use the store")
        self.assertEqual(self.cluster.run_state(run), "running")
        over.touch()
        self.cluster.wait_state(run, "succeeded")

    def test_an_exit_that_asks_for_a_restart_costs_none(self):
        script = self.cluster.script("busy.sh", "#!/bin/sh\n"
            'case "$HPC_RESTART_COUNT" in 0) exit 75;; 1) exit 3;; esac\n')
        self.cluster.hpcctl("run", "--retry-exit", 75, "--max-restarts", 1, "--", script)
        run = self.cluster.json("runs")[0]["id"]
        shown = self.cluster.json("show", run)
        self.assertEqual((len(shown["attempts"]), shown["run"]["failures"],
                          shown["run"]["retries"]), (3, 1, 1))
        self.assertIn("code 75 asks for a restart", self.cluster.hpcctl("why", run).stdout)
        # An exit code that the run did not ask for ends it as usual.
        done = self.cluster.hpcctl("run", "--retry-exit", 76, "--", script, check=False)
        self.assertEqual(done.returncode, 75)

    def test_peers_that_end_at_once_do_not_hide_who_asked_for_a_restart(self):
        once = self.cluster.dir / "once"
        script = self.cluster.script("peers.py", PEERS.format(once=once, closes_first=0))
        self.cluster.hpcctl("run", "-N", 4, "--retry-exit", 75, "--", "python3", script)

    def test_a_rank_that_closes_its_connections_before_it_ends_is_heard(self):
        once = self.cluster.dir / "once-closed"
        script = self.cluster.script("closes.py", PEERS.format(once=once, closes_first=0.3))
        self.cluster.hpcctl("run", "-N", 4, "--retry-exit", 75, "--", "python3", script)

    def test_restarts_until_the_budget_is_used(self):
        counter = self.cluster.dir / "restarts"
        script = self.cluster.script("flaky.sh", "#!/bin/sh\n"
            f'echo "$TORCHELASTIC_RESTART_COUNT" >> {counter}\n'
            'if [ "$TORCHELASTIC_RESTART_COUNT" -lt 2 ]; then exit 3; fi\n')
        self.cluster.hpcctl("run", "--max-restarts", 2, "--", script)
        self.assertEqual(counter.read_text().split(), ["0", "1", "2"])

    def test_what_one_node_lacks_of_the_checkpoints_is_said_before_it_goes_on(self):
        script = self.cluster.script("rank0_saves.sh", "#!/bin/sh\n"
            '[ "$HPC_RESTART_COUNT" = 0 ] || exit 0\n'
            '[ "$RANK" = 0 ] || exec sleep 60\n'
            'echo weights > "$HPC_CHECKPOINT_DIR/last.ckpt"; exit 3\n')
        done = self.cluster.hpcctl("run", "-N", 2, "--max-restarts", 1, "--", script)
        self.assertRegex(done.stderr, r"last.ckpt is on pc\d and not on pc\d: ")

    def test_the_users_own_variables_win(self):
        done = self.cluster.hpcctl(
            "run", "--env", "OMP_NUM_THREADS=7", "--env", "MINE=a b=c", "--", "sh", "-c",
            'echo "$OMP_NUM_THREADS|$MINE"')
        self.assertEqual(done.stdout.strip(), "7|a b=c")


class WorkerCrashTest(ClusterTest):
    """A worker dies; its ranks live on under their supervisor."""

    options = {"nodes": 2, "coordinator_args": ["--reconnect-grace", "2s"]}

    def setUp(self):
        self.pids = self.cluster.dir / f"pids-{self.id()}"
        self.run_id = self.cluster.submit("-N", 2, "--stop-grace", "1s", "--", "sh", "-c",
                                          f"echo $$ >> {self.pids}-$HPC_NODE; exec sleep 600")
        self.cluster.wait_state(self.run_id, "running")
        eventually(lambda: self.pids_on("pc1") and self.pids_on("pc2"), "both ranks run")

    def tearDown(self):
        self.cluster.hpcctl("cancel", self.run_id)
        self.cluster.wait_state(self.run_id, "cancelled")

    def pids_on(self, node):
        path = pathlib.Path(f"{self.pids}-{node}")
        return [int(pid) for pid in path.read_text().split()] if path.exists() else []

    def kinds(self):
        return [e["kind"] for e in self.cluster.events()]

    def test_one_that_is_back_within_the_grace_finds_its_ranks_training(self):
        before = self.kinds()
        self.cluster.workers["pc2"].kill()
        self.cluster.start_worker("pc2")
        eventually(lambda: "node.connected" in self.kinds()[len(before):], "pc2 is back")
        time.sleep(2.5)  # longer than the grace, if it still counted
        self.assertEqual(self.kinds()[len(before):], ["node.disconnected", "node.connected"])
        self.assertEqual(self.cluster.run_state(self.run_id), "running")
        self.assertEqual(len(self.pids_on("pc2")), 1)
        self.assertTrue(pathlib.Path(f"/proc/{self.pids_on('pc2')[0]}").exists())

    def test_ranks_of_one_that_is_not_back_are_ended_through_another_node(self):
        (orphan,) = self.pids_on("pc2")
        self.cluster.workers["pc2"].kill()
        eventually(lambda: self.cluster.node("pc2")["state"] == "lost", "pc2 is lost")
        lost = next(e for e in reversed(self.cluster.events()) if e["kind"] == "node.lost")
        self.assertIn("reconnect grace of 2 s", lost["text"])
        eventually(lambda: not pathlib.Path(f"/proc/{orphan}").exists(), "its rank is ended")
        self.cluster.wait_state(self.run_id, "queued")
        self.cluster.start_worker("pc2")
        eventually(lambda: len(self.pids_on("pc2")) == 2, "the run has started again")
        fenced = [e for e in self.cluster.events() if e["kind"] == "attempt.fenced"]
        self.assertEqual([(e["run"], e["attempt"], e["node"]) for e in fenced],
                         [(self.run_id, 1, "pc2")])
        self.assertIn("asked to by pc1", fenced[0]["text"])


if __name__ == "__main__":
    unittest.main()
