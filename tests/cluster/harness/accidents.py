"""What happens to the PCs of a household, done to a cluster of real daemons.

Each kind of accident is a generator: it does its harm, yields how many seconds pass until its next
step, and leaves behind it what a person or systemd would (daemons that run, cables that are in).
"""

import os
import pathlib
import re
import signal
import subprocess
import time

from .cluster import BIN
from .process import Process

MASTER = "master"
EVERYTHING = "everything"


class Accidents:
    """`lease`: of the coordinator; `token`: in the environment of all ranks; `rng`: chance."""

    def __init__(self, cluster, lease, token, rng):
        self.cluster = cluster
        self.lease = lease
        self.token = token.encode()
        self.rng = rng
        self.coordinator_back = []  # seconds from its death until it answers again
        # (run, attempt, PC) of each supervisor that was killed; what was in its pipes was lost with
        # it.
        self.pipes_lost = set()
        self.ranks_killed = 0  # and nothing else around them
        self._strangers = []

    def kinds(self):
        """By name: (how often, relatively, what it happens to, the generator)."""
        kinds = {
            "coordinator killed": (4, MASTER, self.coordinator),
            "coordinator killed in its start": (2, MASTER, self.coordinator_twice),
            "worker killed": (4, "pc", self.worker),
            "worker killed in its start": (2, "pc", self.worker_twice),
            "worker killed, back late": (1, "pc", self.worker_late),
            "supervisor killed": (4, "pc", self.supervisor),
            "fork server killed": (2, "pc", self.fork_server),
            "rank killed": (4, "pc", self.rank),
            "worker frozen": (3, "pc", self.frozen),
            "second coordinator": (1, MASTER, self.second_coordinator),
            "PC reclaimed, coordinator killed": (1, MASTER, self.reclaim),
        }
        if self.cluster.network:
            kinds.update({
                "cable out": (3, "pc", self.cable),
                "power lost": (2, "pc", self.power),
                "power lost everywhere": (1, EVERYTHING, self.power_everywhere),
                "half-open at the coordinator": (2, "pc", self.half_open_here),
                "half-open at the worker": (2, "pc", self.half_open_there),
                "strangers hold connections": (1, "pc", self.strangers),
            })
        return kinds

    # ---- daemons

    def coordinator(self, _):
        self._kill_coordinator()
        yield self.rng.choice([0, 0, self.rng.uniform(0, 1.5)])
        self._start_coordinator()

    def coordinator_twice(self, _):
        self._kill_coordinator()
        unready = Process(
            [BIN / "hpc-coordinator", "--state-dir", self.cluster.dir / "coordinator", "--listen",
             self.cluster.listen, "--socket", self.cluster.socket, *self.cluster.coordinator_args],
            self.cluster.dir / "coordinator.log", env=self.cluster.env,
            prefix=self.cluster.network.prefix(MASTER) if self.cluster.network else ())
        yield self.rng.uniform(0, 0.3)
        unready.kill()
        self._start_coordinator()

    def _kill_coordinator(self):
        self.cluster.coordinator.kill()

    def _start_coordinator(self):
        begin = time.monotonic()
        self.cluster.start_coordinator()
        self.cluster.hpcctl("status")
        self.coordinator_back.append(time.monotonic() - begin)

    def second_coordinator(self, _):
        second = subprocess.run(
            [BIN / "hpc-coordinator", "--state-dir", self.cluster.dir / "coordinator", "--socket",
             self.cluster.dir / "second.sock"], capture_output=True, text=True, timeout=20,
            env=self.cluster.env)
        said = second.stdout + second.stderr
        if second.returncode != 1 or "in use" not in said:
            raise AssertionError(f"a second coordinator ended with {second.returncode}: {said}")
        yield 0

    def worker(self, pc):
        self.cluster.workers[pc].kill()
        yield self.rng.uniform(0, 0.3)
        self._start_worker(pc)

    def worker_twice(self, pc):
        self.cluster.workers[pc].kill()
        self._start_worker(pc)
        yield self.rng.uniform(0, 0.3)
        self.cluster.workers[pc].kill()
        self._start_worker(pc)

    def worker_late(self, pc):
        self.cluster.workers[pc].kill()
        yield self.lease + self.rng.uniform(0.5, 1.5)
        self._start_worker(pc)

    def _start_worker(self, pc, **how):
        self.cluster.start_worker(pc, ready=False, **how)

    def frozen(self, pc):
        worker = self.cluster.workers[pc]
        worker.signal(signal.SIGSTOP)
        yield self._around_the_lease()
        worker.signal(signal.SIGCONT)

    def _around_the_lease(self):
        """Seconds, drawn evenly: a fence, a doubt and the lease itself all lie between."""
        return self.rng.uniform(0, 2 * self.lease)

    def supervisor(self, pc):
        if pids := self.supervisors(pc):
            self._kill_supervisor(self.rng.choice(pids), pc)
        yield 0

    def _kill_supervisor(self, pid, pc):
        if found := re.search(rb"/attempts/(\d+)\.(\d+)", _read(pid, "cmdline")):
            self.pipes_lost.add((int(found[1]), int(found[2]), pc))
        self._kill(pid)

    @staticmethod
    def _kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has just ended

    def fork_server(self, pc):
        """What makes the PC's supervisors, which go on."""
        for pid in self.fork_servers(pc):
            self._kill(pid)
        yield 0

    def rank(self, pc):
        if pids := self.ranks(pc):
            self._kill(self.rng.choice(pids))
            self.ranks_killed += 1
        yield 0

    def reclaim(self, _):
        pc = self.rng.choice(self.cluster.names)
        self.cluster.hpcctl("reclaim", pc, "--grace", "1s")
        self._kill_coordinator()
        yield self.rng.uniform(0, 0.5)
        self._start_coordinator()
        if not self.cluster.node(pc)["reclaimed"]:
            raise AssertionError(f"{pc} was reclaimed, and is not any more")
        yield 2
        if left := self.ranks(pc):
            raise AssertionError(f"{pc} was reclaimed and still has ranks: {left}")
        self.cluster.hpcctl("lend", pc)

    # ---- cables and plugs

    def cable(self, pc):
        self.cluster.network.cable(pc, False)
        yield self._around_the_lease()
        self.cluster.network.cable(pc, True)

    def half_open_here(self, pc):
        yield from self._half_open(pc, forgets=pc, peer=MASTER)

    def half_open_there(self, pc):
        yield from self._half_open(pc, forgets=MASTER, peer=pc)

    def _half_open(self, pc, forgets, peer):
        self.cluster.network.cable(pc, False)
        self.cluster.network.forget_connections(forgets, peer)
        yield self.rng.uniform(0, 0.3)
        self.cluster.network.cable(pc, True)

    def power(self, pc):
        self._turn_off(pc)
        yield self.rng.uniform(0.2, 1.5 * self.lease)
        self._boot(pc)

    def power_everywhere(self, _):
        for pc in self.cluster.names:
            self._turn_off(pc)
        self._kill_coordinator()
        yield self.rng.uniform(0.2, 1)
        self._start_coordinator()
        for pc in self.cluster.names:
            self._boot(pc)

    def _turn_off(self, pc):
        self.cluster.network.cable(pc, False)
        self.cluster.workers[pc].kill()
        for pid in self.supervisors(pc):
            self._kill_supervisor(pid, pc)
        for pid in self.ranks(pc):
            self._kill(pid)

    def _boot(self, pc):
        self.cluster.network.cable(pc, True)
        self._start_worker(pc, new_boot=True)

    def strangers(self, pc):
        host, port = self.cluster.listen.rsplit(":", 1)
        hold = ("import socket, time\n"
                f"held = [socket.create_connection(('{host}', {port})) for _ in range(8)]\n"
                r"for one in held[::2]: one.sendall(b'\x16\x03\x01\x02\x00\x01')" "\n"
                "time.sleep(60)")
        self._strangers.append(subprocess.Popen(
            [*self.cluster.network.prefix(pc), "python3", "-c", hold],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        yield self.rng.uniform(0.2, 1)

    def over(self):
        """Ends what an accident has left on purpose."""
        for stranger in self._strangers:
            stranger.kill()
            stranger.wait()
        self._strangers = []

    # ---- who is where

    def supervisors(self, pc):
        mark = f"{self.cluster.dir}/{pc}/".encode()
        return [pid for pid in _pids() if b"hpc-supervisor" in (line := _read(pid, "cmdline"))
                and mark in line]

    def fork_servers(self, pc):
        parent = b"\nPPid:\t%d\n" % self.cluster.workers[pc].pid
        return [pid for pid in _pids() if b"\0--fork-server" in _read(pid, "cmdline")
                and parent in _read(pid, "status")]

    def ranks(self, pc):
        return [pid for pid, env in self.rank_environments() if env.get(b"HPC_NODE") == pc.encode()]

    def rank_environments(self):
        """(pid, environment) of each process that came from a rank, wherever it may hide."""
        found = []
        for pid in _pids():
            environ = _read(pid, "environ")
            if self.token in environ:
                found.append((pid, dict(item.split(b"=", 1) for item in environ.split(b"\0")
                                        if b"=" in item)))
        return found


def _pids():
    return [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]


def _read(pid, name):
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # it has ended
