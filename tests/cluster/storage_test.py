"""A disk is full, read-only or damaged. The coordinator says so of its own, and loses nothing; what is
lost on a PC's is told."""

import pathlib
import random
import sqlite3
import subprocess
import unittest

from harness.cluster import BIN, Cluster
from harness.process import Process, eventually

# Prints this many megabytes that cannot be compressed: the first one at once, the others when told
# to.
MEGABYTES = 8
SCRIPT = f"""
import os, pathlib, random, sys, time
go, end = map(pathlib.Path, sys.argv[1:])
def wait(path):
    while not path.exists(): time.sleep(0.02)
data = random.Random(7).randbytes({MEGABYTES} << 20)
for part in (data[:1 << 20], data[1 << 20:]):
    while part: part = part[os.write(1, part):]
    wait(go)
wait(end)
"""


class SmallDisk:
    """A file system of its own at `path`; needs root."""

    def __init__(self, path, size="32m"):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", self.path],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise unittest.SkipTest(f"file systems cannot be mounted here: {done.stderr.strip()}")

    def fill(self):
        with open(self.path / "filler", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def free(self):
        (self.path / "filler").unlink()

    def remount(self, options):
        subprocess.run(["mount", "-o", f"remount,{options}", self.path], check=True)

    def close(self):
        subprocess.run(["umount", "-l", self.path], check=False)


class SmallDiskCluster(Cluster):
    """The coordinator's state directory is on a disk of its own."""

    def make_authority(self):
        self.disk = SmallDisk(self.dir / "coordinator")
        super().make_authority()

    def close(self):
        super().close()
        if hasattr(self, "disk"):
            self.disk.close()

    def output(self, run):
        return subprocess.run([str(BIN / "hpcctl"), "logs", str(run), "--no-label"],
                              capture_output=True, env=self.env, timeout=60, check=True).stdout


class FullDiskOfAPcTest(unittest.TestCase):
    """What its ranks wrote there is lost, and the program goes on: whoever waits for it is told."""

    def test_lost_output_is_told_to_whoever_runs_the_program(self):
        cluster = Cluster(nodes=0)
        self.addCleanup(cluster.close)
        cluster.names = ["pc1"]
        disk = SmallDisk(cluster.dir / "pc1", "80m")
        self.addCleanup(disk.close)
        cluster.start_worker("pc1")
        script = cluster.script("full.sh", "dd if=/dev/zero of=$HPC_RUN_DIR/big bs=1M count=200 "
                                "2>/dev/null\nhead -c 300000 /dev/zero | tr '\\0' x\necho end\n")
        done = cluster.hpcctl("run", "--", "bash", script)
        self.assertIn("293 KiB of the stdout of rank 0 on pc1 is lost", done.stderr)


class FullDiskTest(unittest.TestCase):
    def setUp(self):
        self.cluster = SmallDiskCluster(nodes=1)
        self.addCleanup(self.cluster.close)
        self.disk = self.cluster.disk
        self.go, self.end = self.cluster.dir / "go", self.cluster.dir / "end"
        self.run_id = self.cluster.submit("--", "python3", self.cluster.script("print.py", SCRIPT),
                                          self.go, self.end)
        eventually(lambda: len(self.cluster.output(self.run_id)) == 1 << 20, "the first part")
        self.wanted = random.Random(7).randbytes(MEGABYTES << 20)

    def test_output_waits_for_space(self):
        self.disk.fill()
        self.go.touch()
        eventually(lambda: "no space for output" in self.cluster.coordinator.output(),
                   "the coordinator says so")
        self.assertEqual(self.cluster.run_state(self.run_id), "running")
        self.disk.free()
        self.end.touch()
        self.cluster.wait_state(self.run_id, "succeeded")
        self.assertEqual(self.cluster.output(self.run_id), self.wanted)
        self.assertTrue(self.cluster.coordinator.alive())
        self.assertEqual(self.cluster.coordinator.output().count("no space for output"), 1)

    def test_a_coordinator_that_stopped_goes_on_once_there_is_space(self):
        self.disk.fill()
        self.go.touch()
        self.end.touch()  # the run ends meanwhile
        self.assertEqual(self.cluster.coordinator.wait(40), 1)
        last = self.cluster.coordinator.output().splitlines()[-1]
        self.assertIn(str(self.disk.path), last)
        self.assertIn("free space", last)

        self.disk.free()
        self.cluster.start_coordinator()
        self.cluster.wait_state(self.run_id, "succeeded")
        # This can be read at once, since reading waits for output that is still on its way.
        self.assertEqual(self.cluster.output(self.run_id), self.wanted)

    def test_a_run_that_is_over_is_read_whole_after_a_restart(self):
        self.go.touch()
        self.end.touch()
        self.cluster.wait_state(self.run_id, "succeeded")
        self.cluster.restart_coordinator()
        self.assertEqual(self.cluster.output(self.run_id), self.wanted)

    def test_a_damaged_file_is_a_hole_and_its_node_works_on(self):
        self.go.touch()
        folder = self.disk.path / "logs" / str(self.run_id)
        eventually(lambda: len(list(folder.glob("*.zst"))) > 0, "a segment is compressed")
        self.cluster.coordinator.kill()
        damaged = sorted(folder.glob("*.zst"))[0]
        damaged.write_bytes(b"x" * damaged.stat().st_size)
        self.cluster.start_coordinator()
        self.end.touch()
        self.cluster.wait_state(self.run_id, "succeeded")
        done = subprocess.run([str(BIN / "hpcctl"), "logs", str(self.run_id), "--no-label"],
                              capture_output=True, env=self.cluster.env, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"some of the output is lost here: {damaged} is damaged",
                      done.stderr.decode())
        self.assertTrue(self.wanted.endswith(done.stdout))
        self.assertGreater(len(done.stdout), 1 << 20)
        self.cluster.hpcctl("run", "--", "true")



class SmallPcCluster(Cluster):
    """The state directory of the worker is on a disk of its own."""

    def start_worker(self, name, **options):
        self.disk = SmallDisk(self.dir / name, size="80m")
        return super().start_worker(name, **options)

    def close(self):
        super().close()
        if hasattr(self, "disk"):
            self.disk.close()


class FullPcTest(unittest.TestCase):
    def test_output_that_the_pc_had_no_space_for_is_missed_aloud(self):
        cluster = SmallPcCluster(nodes=1)
        self.addCleanup(cluster.close)
        run = cluster.submit("--", "sh", "-c", "dd if=/dev/zero of=$HPC_RUN_DIR/fill bs=64k 2>&-; "
                             "seq 1000")
        cluster.wait_state(run, "succeeded")
        eventually(lambda: cluster.sql("SELECT sum(cut_bytes) AS n FROM log_streams WHERE run = ?",
                                       run)[0]["n"], "its log is closed, and was cut")
        said = cluster.hpcctl("logs", run).stderr
        self.assertIn("of its output could not be kept", said)


class StateDirTest(unittest.TestCase):
    """A coordinator that cannot start says why in one line, and touches nothing."""

    def setUp(self):
        self.cluster = Cluster(nodes=0)
        self.addCleanup(self.cluster.close)
        self.state = self.cluster.dir / "state"

    def start(self):
        return Process([BIN / "hpc-coordinator", "--state-dir", self.state, "--socket",
                        self.cluster.dir / "other.sock"], self.cluster.dir / "other.log",
                       env=self.cluster.env, ready=True)

    def refused(self, *words):
        log = self.cluster.dir / "refused"
        log.unlink(missing_ok=True)
        process = Process([BIN / "hpc-coordinator", "--state-dir", self.state, "--socket",
                           self.cluster.dir / "other.sock"], log, env=self.cluster.env)
        self.assertEqual(process.wait(10), 1)
        lines = process.output().splitlines()
        self.assertEqual(len(lines), 1, lines)
        for word in (str(self.state), *words):
            self.assertIn(word, lines[0])

    def small_disk(self, size):
        disk = SmallDisk(self.state, size)
        self.addCleanup(disk.close)
        return disk

    def test_a_disk_without_any_space(self):
        self.small_disk("4k")
        self.refused("free space")

    def test_a_disk_without_space_for_a_database(self):
        self.small_disk("16k")
        self.refused("hpc.db", "free space")

    def test_a_disk_that_has_become_full(self):
        disk = self.small_disk("1m")
        self.start().terminate()
        disk.fill()
        self.refused("free space")
        disk.free()
        self.assertEqual(self.start().terminate(), 0)

    def test_a_disk_that_is_read_only(self):
        disk = self.small_disk("1m")
        self.start().terminate()
        disk.remount("ro")
        self.refused("Read-only file system", "give another")

    def test_the_directory_of_a_worker(self):
        self.state.mkdir()
        (self.state / "hpc-state").write_text("worker\n")
        self.refused("belongs to a worker")

    def test_a_file(self):
        self.state.write_text("x")
        self.refused("Not a directory", "give another")

    def test_a_database_of_a_newer_version(self):
        self.start().terminate()
        database = self.state / "hpc.db"
        with sqlite3.connect(database) as db:
            db.execute("PRAGMA user_version = 99")
        db.close()
        before = database.read_bytes()
        self.refused("version 99", "newer hpc-coordinator")
        self.assertEqual(database.read_bytes(), before)

    def test_a_database_that_was_cut_short(self):
        self.start().terminate()
        database = self.state / "hpc.db"
        half = database.read_bytes()[:database.stat().st_size // 2]
        database.write_bytes(half)
        self.refused("hpc.db", "restore a backup")
        self.assertEqual(database.read_bytes(), half)


if __name__ == "__main__":
    unittest.main()
