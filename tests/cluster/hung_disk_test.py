"""The disk of a PC hangs, as a dying one does: its ranks end all the same when they are to."""

import os
import pathlib
import signal
import subprocess
import time
import unittest

from harness.cluster import BIN, Cluster
from harness.process import eventually


class FreezingDisk:
    """A file system of its own at `path`; needs root."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.image = self.path.with_suffix(".image")
        self.path.mkdir(parents=True)
        self.frozen = False
        make = (f"truncate -s 512M {self.image} && mkfs.ext4 -q {self.image} && "
                f"mount -o loop {self.image} {self.path}")
        done = subprocess.run(["sh", "-c", make], capture_output=True, text=True)
        if done.returncode != 0:
            raise unittest.SkipTest(f"file systems cannot be mounted here: {done.stderr.strip()}")

    def freeze(self):
        # Thaws the disk if this test does not live to do so.
        self.guard = subprocess.Popen(["sh", "-c", f"sleep 90; exec fsfreeze -u {self.path}"],
                                      start_new_session=True)
        subprocess.run(["fsfreeze", "-f", self.path], check=True)
        self.frozen = True

    def thaw(self):
        if self.frozen:
            subprocess.run(["fsfreeze", "-u", self.path], check=True)
            os.killpg(self.guard.pid, signal.SIGKILL)
            self.guard.wait()
        self.frozen = False

    def close(self):
        self.thaw()
        subprocess.run(["umount", "-l", self.path], check=False)


class HungDiskCluster(Cluster):
    """The state directory of pc2 is on a disk of its own."""

    def make_authority(self):
        self.disk = FreezingDisk(self.dir / "pc2")
        super().make_authority()

    def close(self):
        if hasattr(self, "disk"):
            self.disk.thaw()
        super().close()
        if hasattr(self, "disk"):
            self.disk.close()


class HungDiskTest(unittest.TestCase):
    def setUp(self):
        self.cluster = HungDiskCluster(nodes=2)
        self.addCleanup(self.cluster.close)
        self.run_id = self.cluster.submit("-N", 2, "--stop-grace", "1s", "--", "sh", "-c",
                                          "while :; do echo line; sleep 0.05; done")
        self.cluster.wait_state(self.run_id, "running")
        eventually(lambda: self.ranks_of("pc2"), "its rank")

    def ranks_of(self, name):
        """Processes of ranks there."""
        mark = f"={self.cluster.dir / name}/attempts/".encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def test_its_node_stays_and_what_runs_there_can_be_ended(self):
        self.cluster.disk.freeze()
        begun = time.monotonic()
        while time.monotonic() < begun + 8:  # longer than the lease
            self.assertNotEqual(self.cluster.node("pc2")["state"], "lost")
            time.sleep(0.5)
        self.assertEqual(self.cluster.run_state(self.run_id), "running")
        self.cluster.hpcctl("cancel", self.run_id)
        eventually(lambda: not self.ranks_of("pc2"), "the end of its ranks", 15)
        self.cluster.wait_state(self.run_id, "cancelled")
        self.assertNotEqual(self.cluster.node("pc2")["state"], "lost")

    def test_its_owner_gets_it_back(self):
        self.cluster.disk.freeze()
        done = subprocess.run(
            [BIN / "hpc-worker", "reclaim", "--grace", "1s", "--state-dir", self.cluster.dir / "pc2"],
            capture_output=True, text=True, timeout=60, env=self.cluster.env)
        self.assertIn("pc2 is yours", done.stdout, done.stderr)
        self.assertIn("not saved yet", done.stdout)
        self.assertEqual(self.ranks_of("pc2"), [])
        eventually(lambda: self.cluster.node("pc2")["state"] == "reclaimed", "the coordinator knows")


if __name__ == "__main__":
    unittest.main()
