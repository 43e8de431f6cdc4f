"""What happens around the coordinator: a clock that jumps, no descriptors, a database that another
program locks or damages, a rank that never stops printing."""

import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from harness.cluster import BIN, Cluster
from harness.process import Process, eventually

# Shifts the wall clock of a process by the number of seconds in a file.
CLOCK = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile int64_t* shift;
__attribute__((constructor)) static void find(void) {
  int fd = open(getenv("HPC_TEST_CLOCK"), O_RDONLY | O_CLOEXEC);
  void* p = mmap(0, 8, PROT_READ, MAP_SHARED, fd, 0);
  if (p != MAP_FAILED) shift = p;
  close(fd);
}
int clock_gettime(clockid_t id, struct timespec* t) {
  int result = syscall(SYS_clock_gettime, id, t);
  if (shift && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) t->tv_sec += *shift;
  return result;
}
int gettimeofday(struct timeval* t, void* zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t* t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
"""
YEAR = 366 * 24 * 3600

WAIT = "import pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.05)\n"


class PrefixedCluster(Cluster):
    """Its coordinator is run by another program, as by `prlimit`."""

    def __init__(self, prefix, **options):
        self.prefix = prefix
        super().__init__(**options)

    def start_coordinator(self):
        self.coordinator = Process(
            [BIN / "hpc-coordinator", "--state-dir", self.dir / "coordinator", "--listen",
             self.listen, "--socket", self.socket], self.dir / "coordinator.log", env=self.env,
            ready=True, prefix=self.prefix)
        self.listen = self.coordinator.ready_value("listen")

    def wait_for(self, go):
        """A run that is over once `go` exists."""
        run = self.submit("--", "python3", self.script("wait.py", WAIT), go)
        self.wait_state(run, "running")
        return run

    def kinds(self):
        return [event["kind"] for event in self.events()]


class ClockTest(unittest.TestCase):
    def setUp(self):
        if shutil.which("cc") is None:
            self.skipTest("there is no C compiler to make a clock with")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="hpc-clock-"))
        self.addCleanup(shutil.rmtree, self.dir)
        (self.dir / "clock.c").write_text(CLOCK)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.dir / "clock.so",
                        self.dir / "clock.c"], check=True)
        self.jump(0)
        self.cluster = PrefixedCluster(
            ["env", f"LD_PRELOAD={self.dir}/clock.so", f"HPC_TEST_CLOCK={self.dir}/shift"], nodes=1)
        self.addCleanup(self.cluster.close)

    def jump(self, seconds):
        with open(self.dir / "shift", "r+b" if (self.dir / "shift").exists() else "wb") as file:
            file.write(struct.pack("q", seconds))

    def as_member(self):
        """By TCP, with the certificate of the first admin."""
        return self.cluster.hpcctl("whoami", "--coordinator", self.cluster.listen, check=False)

    def jumps(self, seconds):
        c = self.cluster
        go = c.dir / "go"
        run = c.wait_for(go)
        self.assertEqual(self.as_member().returncode, 0)
        self.jump(seconds)
        time.sleep(3)
        self.assertEqual(c.run_state(run), "running")
        self.assertNotEqual(self.as_member().returncode, 0)
        self.jump(0)
        eventually(lambda: self.as_member().returncode == 0, "members are let in again", 10)
        c.hpcctl("status")
        go.touch()
        c.wait_state(run, "succeeded")
        self.assertEqual([k for k in c.kinds() if k in ("node.disconnected", "node.lost")], [])
        self.assertEqual(c.coordinator.terminate(), 0)

    def test_a_year_ahead_and_back(self):
        self.jumps(YEAR)

    def test_a_year_back_and_ahead(self):
        self.jumps(-YEAR)


# Opens connections to the Unix socket as another account, and keeps them open.
HOLD = """
import os, socket, sys, time
os.setgroups([]); os.setgid(65534); os.setuid(65534)
held, refused = [], 0
for _ in range(int(sys.argv[2])):
    try:
        one = socket.socket(socket.AF_UNIX)
        one.connect(sys.argv[1])
        one.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes(3) + b"\\x04" + bytes(5))
        held.append(one)
    except OSError:
        refused += 1
print("held", flush=True)
sys.stdin.read()
"""


class DescriptorsTest(unittest.TestCase):
    """A coordinator that may have few descriptors, of which others want as many as they can get."""

    def cluster(self, soft, hard):
        if shutil.which("prlimit") is None:
            self.skipTest("there is no prlimit here")
        c = PrefixedCluster(["prlimit", f"--nofile={soft}:{hard}"], nodes=1)
        self.addCleanup(c.close)
        return c

    def call(self, c, count):
        """Strangers who connect and say nothing, or what a client of gRPC says first."""
        host, port = c.listen.rsplit(":", 1)
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        tls.set_alpn_protocols(["h2"])
        callers = []
        for number in range(count):
            try:
                caller = socket.create_connection((host, int(port)), timeout=10)
                if number % 2:
                    caller = tls.wrap_socket(caller)
                    caller.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04"
                                   + bytes(5))
                callers.append(caller)
            except OSError:
                pass
        self.addCleanup(lambda: [caller.close() for caller in callers])
        return callers

    def still_serves(self, c, run, go):
        self.assertEqual(c.hpcctl("status", check=False).returncode, 0)
        member = c.hpcctl("whoami", "--coordinator", c.listen, check=False)
        self.assertEqual(member.returncode, 0, member.stderr)
        go.touch()  # the end must be told and the output written
        c.wait_state(run, "succeeded")
        self.assertTrue(c.coordinator.alive())
        self.assertNotIn("node.disconnected", c.kinds())

    def refusals(self, c):
        return "\n".join(event["text"] for event in c.events("--security"))

    def test_strangers_without_a_certificate_lock_nobody_out(self):
        for limit in (128, 256):
            with self.subTest(limit=limit):
                c = self.cluster(limit, limit)
                go = c.dir / "go"
                run = c.wait_for(go)
                self.call(c, 2 * limit)
                self.still_serves(c, run, go)
                self.assertIn("nobody has shown a member's certificate", self.refusals(c))

    def test_another_local_account_does_not_lock_root_out(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be another account")
        c = self.cluster(256, 256)
        go = c.dir / "go"
        run = c.wait_for(go)
        holder = subprocess.Popen([sys.executable, "-c", HOLD, c.socket, "500"], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.assertEqual(holder.stdout.readline(), "held\n")
            self.still_serves(c, run, go)
            self.assertIn("the account nobody has 16 connections", self.refusals(c))
        finally:
            holder.communicate("")

    def test_the_coordinator_takes_as_many_as_it_is_allowed(self):
        c = self.cluster(64, 1000)
        limits = pathlib.Path(f"/proc/{c.coordinator.pid}/limits").read_text()
        self.assertRegex(limits, r"Max open files +1000 +1000")


class DatabaseTest(unittest.TestCase):
    def setUp(self):
        self.cluster = PrefixedCluster((), nodes=1)
        self.addCleanup(self.cluster.close)
        self.database = self.cluster.dir / "coordinator" / "hpc.db"

    def test_that_is_locked_for_a_moment_makes_answers_late(self):
        with sqlite3.connect(self.database, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            client = self.cluster.start("run", "--detach", "--", "true")
            time.sleep(0.7)
            self.assertTrue(client.alive())
            other.execute("ROLLBACK")
        other.close()
        self.assertEqual(client.wait(20), 0)
        self.assertTrue(self.cluster.coordinator.alive())

    def test_that_is_slow_makes_no_node_seem_silent(self):
        lease = 1
        with Cluster(nodes=3, coordinator_args=("--lease", f"{lease}s")) as cluster:
            run = cluster.submit("-N", 3, "--", "sh", "-c", "while :; do echo; sleep 0.05; done")
            cluster.wait_state(run, "running")
            with sqlite3.connect(cluster.dir / "coordinator/hpc.db", isolation_level=None) as other:
                for _ in range(8):  # each time, the coordinator waits and hears nobody
                    other.execute("BEGIN IMMEDIATE")
                    time.sleep(1.3 * lease)
                    other.execute("ROLLBACK")
                    time.sleep(0.3 * lease)
            other.close()
            self.assertEqual([e["text"] for e in cluster.json("events") if e["kind"] == "node.lost"], [])
            self.assertEqual(cluster.run_state(run), "running")

    def test_that_is_locked_while_a_run_is_submitted_does_not_lose_the_wish_to_cancel_it(self):
        with sqlite3.connect(self.database, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            client = self.cluster.start("run", "--", "sleep", "1000")
            time.sleep(1.5)
            client.signal(signal.SIGINT)
            time.sleep(0.3)
            self.assertTrue(client.alive())
            other.execute("ROLLBACK")
        other.close()
        self.assertEqual(client.wait(20), 122, client.output())
        self.assertEqual(self.cluster.run_state(1), "cancelled")

    def test_that_is_locked_for_long_stops_it_with_a_line_and_it_starts_again(self):
        with sqlite3.connect(self.database, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            client = self.cluster.start("run", "--", "true")
            self.assertEqual(self.cluster.coordinator.wait(20), 1)
            last = self.cluster.coordinator.output().splitlines()[-1]
            self.assertIn(f"{self.database}: locked by another process", last)
            other.execute("ROLLBACK")
        other.close()
        self.cluster.start_coordinator()
        self.assertEqual(client.wait(30), 0, client.output())

    def test_that_is_damaged_is_never_taken_for_data_and_all_else_goes_on(self):
        c = self.cluster
        go = c.dir / "go"
        blocker = c.wait_for(go)
        # None of the other runs starts, since that would read what is damaged.
        endless = c.submit("--", "sleep", "1000")
        for number in range(20):
            c.submit("--after", endless, "--param", f"marker=mark{number:02}" + "y" * 3000, "--",
                     "true")
        c.coordinator.terminate()
        c.start_coordinator()
        data = self.database.read_bytes()
        page = data.index(b"mark07") // 4096 * 4096
        with open(self.database, "r+b") as file:
            file.seek(page)
            file.write(b"\xff" * 4096)
        damaged = endless + 8
        refused = c.hpcctl("show", damaged, check=False)
        self.assertEqual(refused.returncode, 121, refused.stdout)
        self.assertIn(f"{self.database}: damaged", refused.stderr)
        self.assertIn("restore a backup", refused.stderr)
        c.hpcctl("show", blocker)
        go.touch()
        c.wait_state(blocker, "succeeded")


class OutputTest(unittest.TestCase):
    def test_a_rank_that_prints_as_fast_as_it_can_delays_nothing_else(self):
        c = PrefixedCluster((), nodes=1, cpu_slots=2)
        self.addCleanup(c.close)
        loud = c.submit("--", "python3", c.script("loud.py", """
import os, sys, time
line = b"x" * 1023 + b"\\n"
end = time.monotonic() + 4
written = 0
while time.monotonic() < end:
    written += os.write(1, line * 1024)
open(sys.argv[1], "w").write(str(written))
"""), c.dir / "written")
        c.wait_state(loud, "running")
        others = 0
        while c.run_state(loud) == "running":
            c.hpcctl("run", "--", "true")
            others += 1
        c.wait_state(loud, "succeeded", timeout=60)
        self.assertGreater(others, 0)
        self.assertEqual([k for k in c.kinds() if k in ("node.disconnected", "node.lost")], [])

        def all_of_it():
            rows = c.sql("SELECT stream, bytes, cut_bytes FROM log_streams WHERE run = ?", loud)
            return {row["stream"]: row for row in rows} if len(rows) == 2 else None
        streams = eventually(all_of_it, "its output has come", 120)
        written = int((c.dir / "written").read_text())
        self.assertEqual(streams["stdout"]["bytes"] + streams["stdout"]["cut_bytes"], written)


if __name__ == "__main__":
    unittest.main()
