"""Backup, restore, and moving the master, with real daemons."""

import os
import pathlib
import stat
import subprocess
import unittest

from harness import account
from harness.cluster import BIN, Cluster
from harness.ports import free_port
from harness.process import eventually
from storage_test import SmallDisk, SmallDiskCluster

# Logs a metric, prints, waits for a file, and prints again.
SCRIPT = """
import pathlib, sys, time
import hpc
go = pathlib.Path(sys.argv[1])
hpc.log(step=1, loss=0.5)
print("before the move", flush=True)
while not go.exists(): time.sleep(0.02)
hpc.log(step=2, loss=0.25)
print("after the move", flush=True)
"""


class BackupCluster(Cluster):
    def backup(self, name="b.hpc", *args, check=True):
        return self.hpcctl("backup", self.dir / name, *args, check=check)

    def restore(self, target, name="b.hpc", check=True):
        done = subprocess.run(
            [str(BIN / "hpc-coordinator"), "restore", str(self.dir / name), "--state-dir",
             str(target)], capture_output=True, text=True, timeout=60, env=self.env)
        if check and done.returncode != 0:
            raise AssertionError(f"restore: {done.stdout}{done.stderr}")
        return done

    def start_restored(self, listen="127.0.0.1:0"):
        """A coordinator on another state directory, socket and port, as on another machine."""
        target = self.dir / "moved" / "coordinator"
        self.restore(target)
        # From now on, the harness's own paths lead there.
        self.coordinator_dir().rename(self.dir / "old-coordinator")
        target.rename(self.coordinator_dir())
        self.listen = listen
        self.start_coordinator()

    def coordinator_dir(self):
        return self.dir / "coordinator"

    def output(self, run):
        return self.hpcctl("logs", run, "--no-label").stdout


class MoveTest(unittest.TestCase):
    def setUp(self):
        self.cluster = BackupCluster(nodes=2)
        self.addCleanup(self.cluster.close)
        self.go = self.cluster.dir / "go"
        self.program = ["--", "python3", self.cluster.script("train.py", SCRIPT), self.go]

    def wait_printed(self, run, text):
        eventually(lambda: text in self.cluster.output(run), f"run {run} has printed '{text}'")

    def test_the_master_moves_and_a_live_gang_trains_on(self):
        c = self.cluster
        self.go.touch()
        finished = c.submit(*self.program)
        c.wait_state(finished, "succeeded")
        self.wait_printed(finished, "after the move")
        self.go.unlink()
        laptop = {"XDG_CONFIG_HOME": str(c.dir / "laptop")}
        c.hpcctl("login", c.make_token("--role", "user"), "--name", "anna", env=laptop)
        gang = c.submit("-N", "2", *self.program)
        c.wait_state(gang, "running")
        self.wait_printed(gang, "before the move")
        pids = [rank["pid"] for rank in c.sql("SELECT pid FROM ranks WHERE run = ?", gang)]

        # The new address is named while the old one still answers.
        new = f"127.0.0.1:{free_port()}"
        for name in c.names:
            c.workers[name].kill()
            c.start_worker(name, args=["--coordinator", new])
            eventually(lambda: c.node(name)["state"] == "busy", f"{name} is back")
        c.backup()
        c.coordinator.terminate()
        c.start_restored(listen=new)
        for name in c.names:
            eventually(lambda: c.node(name)["state"] == "busy", f"{name} has come over")
        # The option was needed only once.
        c.workers["pc1"].terminate()
        c.start_worker("pc1")

        self.assertEqual(c.run_state(gang), "running")
        self.go.touch()
        c.wait_state(gang, "succeeded")
        detail = c.json("show", gang)
        self.assertEqual(len(detail["attempts"]), 1)
        self.assertEqual([r["pid"] for r in c.sql("SELECT pid FROM ranks WHERE run = ?", gang)], pids)
        eventually(lambda: c.output(gang).count("after the move\n") == 2, "both ranks' last words")
        self.assertEqual(c.output(gang).count("before the move\n"), 2)
        steps = [(m["rank"], m["step"]) for m in c.json("metrics", gang)]
        self.assertEqual(sorted(steps), [(0, 1), (0, 2), (1, 1), (1, 2)])

        self.assertEqual(c.output(finished), "before the move\nafter the move\n")
        self.assertEqual([m["value"] for m in c.json("metrics", finished)], [0.5, 0.25])
        who = c.hpcctl("whoami", "--coordinator", c.listen, env={**laptop, "HPC_COORDINATOR": ""})
        self.assertIn("anna", who.stdout)
        self.assertIn("cluster.restored", [event["kind"] for event in c.events()])

    def test_what_was_started_after_the_backup_is_stopped_and_its_number_not_used(self):
        c = self.cluster
        c.backup()
        unknown = c.submit("-N", "2", *self.program)
        c.wait_state(unknown, "running")
        self.wait_printed(unknown, "before the move")
        pids = [rank["pid"] for rank in c.sql("SELECT pid FROM ranks WHERE run = ?", unknown)]
        c.coordinator.kill()
        c.start_restored(listen=c.listen)
        eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids),
                   "ranks that the backup does not know are stopped")
        self.assertEqual(c.hpcctl("show", unknown, check=False).returncode, 121)
        self.go.touch()
        later = c.submit("-N", "2", *self.program)
        self.assertGreater(later, 100_000)
        c.wait_state(later, "succeeded")
        eventually(lambda: c.output(later).count("after the move\n") == 2, "its own output alone")
        self.assertEqual(c.output(later).count("before the move\n"), 2)

    def test_a_run_that_waited_then_waits_until_no_rank_of_it_can_be_left(self):
        c = self.cluster
        blocker = c.submit("-N", "2", *self.program)
        c.wait_state(blocker, "running")
        waiting = c.submit("-N", "2", "--", "true")
        c.backup()
        c.coordinator.kill()
        c.start_restored(listen=c.listen)
        self.assertIn("a backup was restored", c.hpcctl("why", waiting).stdout)
        self.go.touch()
        c.wait_state(blocker, "succeeded")
        self.assertEqual(c.run_state(waiting), "queued")


class CommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = BackupCluster(nodes=0)
        cls.addClassCleanup(cls.cluster.close)

    def test_the_file_is_its_owners_alone_and_is_not_replaced_unasked(self):
        c = self.cluster
        c.backup("once.hpc")
        file = c.dir / "once.hpc"
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        before = file.read_bytes()
        refused = c.backup("once.hpc", check=False)
        self.assertEqual(refused.returncode, 121)
        self.assertIn("--force", refused.stderr)
        self.assertEqual(file.read_bytes(), before)
        c.backup("once.hpc", "--force")
        self.assertEqual(list(c.dir.glob("once.hpc?*")), [])
        self.assertFalse((c.coordinator_dir() / "backup.tmp").exists())
        kinds = [event["kind"] for event in c.events("--security")]
        self.assertIn("security.backup", kinds)

    def test_users_may_not(self):
        c = self.cluster
        user = {"XDG_CONFIG_HOME": str(c.dir / "user"), "HPC_COORDINATOR": ""}
        c.hpcctl("login", c.make_token("--role", "user"), "--name", "ben", env=user)
        refused = c.hpcctl("backup", c.dir / "mine.hpc", "--coordinator", c.listen, env=user,
                           check=False)
        self.assertEqual(refused.returncode, 121)
        self.assertIn("only an admin may make a backup", refused.stderr)
        self.assertEqual(list(c.dir.glob("mine.hpc*")), [])

    def test_a_disk_without_space_for_the_file(self):
        disk = SmallDisk(self.cluster.dir / "stick", "16k")
        self.addCleanup(disk.close)
        refused = self.cluster.backup("stick/b.hpc", check=False)
        self.assertEqual(refused.returncode, 121)
        self.assertIn("no space left for", refused.stderr)
        self.assertEqual(list(disk.path.iterdir()), [])

    def test_what_is_in_the_way_of_a_restore_is_named(self):
        self.cluster.backup("again.hpc")
        refused = self.cluster.restore(self.cluster.coordinator_dir(), "again.hpc", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("is not empty (hpc-state, hpc.db, ", refused.stderr)

    def test_what_a_killed_coordinator_has_left_of_a_backup_goes(self):
        left = self.cluster.coordinator_dir() / "backup.tmp"
        left.write_bytes(b"half")
        self.cluster.restart_coordinator()
        self.assertFalse(left.exists())


class FullDiskTest(unittest.TestCase):
    def test_a_coordinator_without_space_for_a_backup_says_so_and_works_on(self):
        cluster = SmallDiskCluster(nodes=0)
        self.addCleanup(cluster.close)
        refused = cluster.hpcctl("backup", cluster.dir / "b.hpc", check=False)
        self.assertEqual(refused.returncode, 121)
        self.assertIn("are free there", refused.stderr)
        self.assertIn("--no-logs", refused.stderr)
        self.assertFalse((cluster.dir / "b.hpc").exists())
        cluster.hpcctl("status")


if __name__ == "__main__":
    unittest.main()
