"""A PC goes back to its owner, to sleep, and wakes."""

import pathlib
import signal
import socket
import subprocess
import sys
import unittest

from harness.cluster import BIN, ClusterTest
from harness.process import Process, eventually


class ReclaimTest(ClusterTest):
    options = {"nodes": 2}

    def tearDown(self):
        for run in self.cluster.json("runs"):
            if run["state"] in ("queued", "starting", "running", "stopping"):
                self.cluster.hpcctl("cancel", run["id"], check=False)
        self.cluster.hpcctl("lend", "pc2", check=False)

    def test_a_reclaimed_pc_is_free_whatever_its_ranks_ignore_and_the_run_is_queued_again(self):
        run = self.cluster.submit("-N", 2, "--stop-grace", "1s", "--", "sh", "-c",
                                  "trap '' TERM; while :; do sleep 0.1; done")
        self.cluster.wait_state(run, "running")
        self.cluster.hpcctl("reclaim", "pc2", "--grace", "1s", "--reason", "game night")
        self.cluster.wait_state(run, "queued", timeout=10)
        self.assertEqual(self.cluster.node("pc2")["state"], "reclaimed")
        self.assertIn("game night", self.cluster.hpcctl("why", "pc2").stdout)
        self.assertTrue(any(e["kind"] == "node.returned" for e in self.cluster.events()))
        self.assertIsNone(self.cluster.json("runs")[0]["took_us"], "it waits")
        shown = self.cluster.json("show", run)
        self.assertEqual(shown["attempts"][0]["outcome"], "reclaimed")
        self.assertEqual(shown["run"]["failures"], 0)
        self.cluster.hpcctl("lend", "pc2")
        self.cluster.wait_state(run, "running")

    def test_reclaiming_twice_and_lending_twice_are_no_errors(self):
        for _ in range(2):
            self.cluster.hpcctl("reclaim", "pc2")
        for _ in range(2):
            self.cluster.hpcctl("lend", "pc2")

    def test_a_reclaim_for_a_time_ends_by_itself(self):
        self.cluster.hpcctl("reclaim", "pc2", "--for", "1s")
        self.assertEqual(self.cluster.node("pc2")["state"], "reclaimed")
        eventually(lambda: self.cluster.node("pc2")["state"] == "idle", "pc2 is lent again", 10)

    def worker_command(self, *args):
        return subprocess.run(
            [str(BIN / "hpc-worker"), *args, "--state-dir", str(self.cluster.dir / "pc2")],
            capture_output=True, text=True, timeout=20, env=self.cluster.env)

    def test_the_owner_can_reclaim_at_the_pc_itself(self):
        done = self.worker_command("reclaim", "--reason", "mine")
        self.assertEqual(done.returncode, 0, done.stderr)
        eventually(lambda: self.cluster.node("pc2")["state"] == "reclaimed", "the coordinator knows")
        self.assertIn("yours until you lend it", self.worker_command("status").stdout)
        self.assertEqual(self.worker_command("lend").returncode, 0)
        eventually(lambda: self.cluster.node("pc2")["state"] == "idle", "lent again")

    def test_the_owner_can_reclaim_while_the_coordinator_is_away(self):
        marker = self.cluster.dir / "pids"
        run = self.cluster.submit("-N", 2, "--max-restarts", 5, "--", "sh", "-c",
                                  f"echo $$ >> {marker}-$HPC_NODE; exec sleep 600")
        self.cluster.wait_state(run, "running")
        pid = int(pathlib.Path(f"{marker}-pc2").read_text())
        self.cluster.coordinator.kill()
        done = self.worker_command("reclaim")
        self.assertEqual(done.returncode, 0, done.stderr)
        eventually(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "the rank is gone", 15)
        self.cluster.start_coordinator()
        eventually(lambda: self.cluster.node("pc2")["state"] == "reclaimed", "the coordinator knows")
        self.cluster.wait_state(run, "queued")
        self.assertEqual(self.worker_command("lend").returncode, 0)
        self.cluster.wait_state(run, "running")


    def test_a_worker_that_stands_still_is_named_to_its_owner(self):
        worker = self.cluster.workers["pc2"]
        worker.signal(signal.SIGSTOP)
        self.addCleanup(worker.signal, signal.SIGCONT)
        done = self.worker_command("status")
        worker.signal(signal.SIGCONT)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(f"hpc-worker ({worker.pid}) is stopped by a signal. Let it go on "
                      f"(kill -CONT {worker.pid})", done.stderr)
        eventually(lambda: self.cluster.node("pc2")["state"] == "idle", "it is there again")


class SleepFailureTest(ClusterTest):
    options = {"nodes": 1,
               "worker_args": ["--power-command", "echo 'no logind here' >&2; exit 3"]}

    def test_a_pc_that_cannot_sleep_says_why(self):
        self.cluster.hpcctl("sleep", "pc1")
        eventually(lambda: self.cluster.events()[-1]["kind"] == "node.sleep-failed", "it is told")
        event = self.cluster.events()[-1]
        self.assertEqual(event["severity"], "warning")
        self.assertIn("no logind here", event["text"])
        self.assertEqual([e["kind"] for e in self.cluster.events("--node", "pc1")],
                         ["node.joined", "node.sleep", "node.sleep-failed"])
        self.assertEqual(self.cluster.node("pc1")["state"], "idle")
        self.assertIn("no logind here", self.cluster.node("pc1")["reason"])
        self.assertIn("no logind here", self.cluster.hpcctl("why", "pc1").stdout)


class GoneTest(ClusterTest):
    """A worker that is stopped on a PC that stays on; and one that is there no more."""

    options = {"nodes": 2}

    def test_a_stopped_worker_is_not_woken_and_its_pc_can_be_forgotten(self):
        cluster = self.cluster
        cluster.workers["pc2"].terminate()
        eventually(lambda: cluster.node("pc2")["state"] == "stopped", "pc2 has said so")
        run = cluster.submit("-N", 2, "--", "true")
        self.assertIn("pc2 has its worker stopped", cluster.hpcctl("why", run).stdout)
        refused = cluster.hpcctl("wake", "pc2", check=False)
        self.assertEqual(refused.returncode, 121)
        self.assertIn("Start it there (systemctl start hpc-worker)", refused.stderr)
        self.assertNotIn("node.wake", [e["kind"] for e in cluster.events()])
        refused = cluster.hpcctl("node", "forget", "pc1", check=False)
        self.assertEqual(refused.returncode, 121)
        self.assertIn("pc1 is connected: stop its worker there first", refused.stderr)
        cluster.start_worker("pc2")
        cluster.wait_state(run, "succeeded")

        cluster.workers["pc2"].terminate()
        eventually(lambda: cluster.node("pc2")["state"] == "stopped", "pc2 has said so again")
        self.assertEqual(cluster.hpcctl("node", "forget", "pc2").stdout, "pc2 is forgotten\n")
        for _ in range(2):
            self.assertEqual([n["name"] for n in cluster.json("nodes")], ["pc1"])
            refused = cluster.hpcctl("run", "-N", "2", "--", "true", check=False)
            self.assertEqual(refused.returncode, 121)
            self.assertIn("needs 2 nodes, but only 1 node exists", refused.stderr)
            self.assertIn("pc2", cluster.hpcctl("show", run).stdout)
            cluster.restart_coordinator()
        cluster.start_worker("pc2")
        eventually(lambda: cluster.node("pc2")["state"] == "idle", "pc2 is a node again")


LISTEN = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
s.bind(("", 9))
open(sys.argv[1] + ".ready", "w").close()
seen = set()
while True:
    data, _ = s.recvfrom(2048)
    with open(sys.argv[1], "ab") as f:
        f.write(data.hex().encode() + b"\\n")
"""


class PowerTest(ClusterTest):
    """Sleep and wake, with the magic packet taken off the wire."""

    options = {"nodes": 2, "network": True}

    def test_a_pc_sleeps_and_a_queued_gang_wakes_it(self):
        cluster = self.cluster
        # Here a worker that ends stands for a PC that sleeps: the power command ends it.
        pc2 = cluster.workers["pc2"]
        pc2.terminate()
        command = cluster.script("suspend.sh", "#!/bin/sh\necho asleep >> "
                                 f"{cluster.dir}/slept\nkill -TERM $(cat {cluster.dir}/pc2.pid)\n")
        cluster.start_worker("pc2", args=["--power-command", str(command)])
        (cluster.dir / "pc2.pid").write_text(str(cluster.workers["pc2"].pid))
        eventually(lambda: cluster.node("pc2")["state"] == "idle", "pc2 is back")
        mac = cluster.network.mac("pc2")

        awake = cluster.hpcctl("wake", "pc2")
        self.assertIn("pc2 is on already", awake.stderr)
        self.assertEqual(awake.stdout, "")
        before = cluster.events("--node", "pc2")[-1]["id"]
        cluster.hpcctl("sleep", "pc2")
        eventually(lambda: cluster.node("pc2")["state"] == "off", "pc2 is off", 20)
        self.assertTrue((cluster.dir / "slept").exists())
        self.assertEqual([e["kind"] for e in cluster.events("--node", "pc2") if e["id"] > before],
                         ["node.sleep", "node.off"])

        packets = cluster.dir / "packets"
        listener = Process([sys.executable, "-c", LISTEN, packets], cluster.dir / "listen.log",
                           prefix=cluster.network.prefix("pc2"))
        try:
            eventually(lambda: pathlib.Path(f"{packets}.ready").exists(), "the listener listens")
            run = cluster.submit("-N", 2, "--", "true")
            eventually(lambda: packets.exists() and packets.read_text().endswith("\n"),
                       "a magic packet arrives", 20)
            want = "ff" * 6 + mac.replace(":", "") * 16
            self.assertIn(want, packets.read_text().split())
            self.assertEqual(cluster.node("pc2")["state"], "waking")
        finally:
            listener.kill()
        cluster.start_worker("pc2", new_boot=True)
        cluster.wait_state(run, "succeeded")


if __name__ == "__main__":
    unittest.main()
