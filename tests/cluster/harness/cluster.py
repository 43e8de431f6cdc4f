"""A cluster of real daemons, on loopback or on PCs in network namespaces."""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from . import account
from .network import Network
from .process import Process, eventually

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("HPC_BIN", ROOT / "build/release/bin"))
PYTHON = os.environ.get("HPC_TEST_PYTHON", "")
PYTHONS = [PYTHON, os.environ.get("HPC_TEST_FRAMEWORKS_PYTHON", "")]


class Cluster:
    """One coordinator and workers pc1, pc2 ... Everything is below one temporary folder."""

    def __init__(self, nodes=4, cpu_slots=1, network=False, coordinator_args=(), worker_args=(),
                 env=None, worker_env=None, accounts=None):
        """`accounts`: as of `hpc-worker --accounts`, where we are root; else all are one."""
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="hpc-cluster-"))
        self.names = [f"pc{i}" for i in range(1, nodes + 1)]
        self.cpu_slots = cpu_slots
        self.coordinator_args = list(coordinator_args)
        self.worker_args = list(worker_args)
        self.worker_env = worker_env or {}  # by name: further variables of a worker's environment
        self.socket = self.dir / "hpc.sock"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("HPC_")}
        self.env.update({"HPC_COORDINATOR": f"unix:{self.socket}", "OMP_NUM_THREADS": "1",
                         "XDG_CONFIG_HOME": str(self.dir / "config")})
        if account.needed():
            account.open_way(ROOT, BIN, sys.prefix,
                             *(pathlib.Path(python).parent.parent for python in PYTHONS if python))
            self.env["HPC_WORKER_ACCOUNTS"] = accounts or f"*={account.NAME}"
            self.env["HPC_WORKER_RANK_ENV"] = "OMP_NUM_THREADS"
            # Ranks write into this folder.
            shutil.chown(self.dir, account.NAME)
            self.dir.chmod(0o755)
        if os.environ.get("HPC_TEST_NO_REUSE") == "1":
            self.env["HPC_WORKER_NO_REUSE"] = "1"
        if PYTHON:
            self.env["PATH"] = f"{pathlib.Path(PYTHON).parent}:{self.env['PATH']}"
        self.env.update(env or {})
        self.listen = "127.0.0.1:0"
        self.network = None
        self.coordinator = None
        self.workers = {}
        self.clients = []
        try:
            if network:
                self.network = Network(["master"] + self.names)
                self.listen = f"{self.network.address('master')}:0"
            self.make_authority()
            self.start_coordinator()
            self.token = self.make_token("--uses", max(nodes, 1))
            for name in self.names:
                self.start_worker(name)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- daemons

    def make_authority(self):
        self.hpcctl("cluster", "init", "--state-dir", self.dir / "coordinator")

    def start_coordinator(self):
        self.coordinator = Process(
            [BIN / "hpc-coordinator", "--state-dir", self.dir / "coordinator", "--listen",
             self.listen, "--socket", self.socket, *self.coordinator_args],
            self.dir / "coordinator.log", env=self.env, ready=True,
            prefix=self.network.prefix("master") if self.network else ())
        # The port stays the same after a restart, so that workers find the coordinator again.
        self.listen = self.coordinator.ready_value("listen")

    def make_token(self, *args):
        """The line that is pasted on a PC or a laptop."""
        return self.hpcctl("token", "create", *args).stdout.strip()

    def join(self, name, token=None, check=True):
        """What is typed on a new PC."""
        done = subprocess.run(
            [*(self.network.prefix(name) if self.network else ()), str(BIN / "hpc-worker"), "join",
             token or self.token, "--name", name, "--state-dir", str(self.dir / name)],
            capture_output=True, text=True, timeout=30, env=self.env)
        if check and done.returncode != 0:
            raise AssertionError(f"{name} does not join: {done.stdout}{done.stderr}")
        return done

    def start_worker(self, name, args=(), new_boot=False, ready=True):
        """`new_boot`: as if the PC had been booted since (in a network namespace only). `ready`:
        returns once it is connected."""
        index = self.names.index(name) + 1
        address = self.network.address(name) if self.network else f"127.0.{index // 200}.{10 + index % 200}"
        if not (self.dir / name / "identity").exists():
            self.join(name)
        self.workers[name] = Process(
            [BIN / "hpc-worker", "--state-dir", self.dir / name, "--address", address,
             "--cpu-slots", self.cpu_slots, *self.worker_args, *args],
            self.dir / f"{name}.log", env={**self.env, **self.worker_env.get(name, {})}, ready=ready,
            prefix=self.network.prefix(name, new_boot) if self.network else ())
        return self.workers[name]

    def restart_coordinator(self):
        self.coordinator.kill()
        self.start_coordinator()

    def close(self):
        for client in self.clients:
            client.kill()
        # Ranks outlive their worker by design, so they are ended first.
        for worker in self.workers.values():
            if worker.alive():
                worker.terminate()
        self._end_supervisors()
        if self.coordinator and self.coordinator.alive():
            self.coordinator.terminate()
        if self.network:
            self.network.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def _end_supervisors(self):
        """Ends supervisors of this cluster that are left, by pid."""
        mark = str(self.dir).encode()
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                line = (entry / "cmdline").read_bytes()
                if b"hpc-supervisor" in line and mark in line:
                    os.kill(int(entry.name), 9)
            except OSError:
                continue

    # ---- clients

    def hpcctl(self, *args, check=True, timeout=60, stdin=None, env=None, cwd=None):
        """Runs a command to its end. `check` fails the test unless it exits with 0."""
        done = subprocess.run(
            [str(BIN / "hpcctl"), *map(str, args)], capture_output=True, text=True,
            errors="replace", timeout=timeout, input=stdin, env={**self.env, **(env or {})},
            cwd=cwd or self.dir)
        if check and done.returncode != 0:
            raise AssertionError(
                f"hpcctl {' '.join(map(str, args))} exited with {done.returncode}\n"
                f"{done.stdout}\n{done.stderr}\n{self.logs()}")
        return done

    def start(self, *args, name="client", env=None):
        """Starts a command and goes on; its output is in a file."""
        client = Process([BIN / "hpcctl", *args], self.dir / f"{name}-{len(self.clients)}.log",
                         env={**self.env, **(env or {})}, cwd=self.dir)
        self.clients.append(client)
        return client

    def json(self, *args):
        return json.loads(self.hpcctl(*args, "--json").stdout)

    def submit(self, *args):
        """Submits detached; returns the run's number."""
        out = self.hpcctl("run", "--detach", "--json", *args).stdout
        return json.loads(out)["id"]

    def run_state(self, run):
        return self.json("show", run)["run"]["state"]

    def wait_state(self, run, *states, timeout=30):
        return eventually(lambda: self.run_state(run) in states,
                          f"run {run} is {' or '.join(states)} (it is {self.run_state(run)})",
                          timeout)

    def events(self, *args):
        return self.json("events", *args)

    def node(self, name):
        return next(n for n in self.json("nodes") if n["name"] == name)

    def sql(self, query, *args):
        """Reads the coordinator's database while it runs."""
        with sqlite3.connect(f"file:{self.dir}/coordinator/hpc.db?mode=ro", uri=True) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(query, args)]

    def starts(self, run):
        """How the ranks of each attempt were started on each node, {(1, "pc1"): "warm"}: docs/WARM.md.
        None: that is not told yet."""
        rows = self.sql("SELECT attempt, node, facts FROM environments WHERE run=?", run)
        return {(row["attempt"], row["node"]): json.loads(row["facts"]).get("start") for row in rows}

    def script(self, name, text):
        """Writes a script for ranks to run; returns its path."""
        path = self.dir / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def logs(self):
        """What the daemons said, for a failing test."""
        text = ""
        for file in sorted(self.dir.glob("*.log")):
            text += f"--- {file.name}\n{file.read_text(errors='replace')[-4000:]}\n"
        return text


class ClusterTest(unittest.TestCase):
    """A test case with one cluster per class; `options` are Cluster's arguments."""

    options = {}

    @classmethod
    def setUpClass(cls):
        if cls.options.get("network"):
            why = Network.available()
            if why:
                raise unittest.SkipTest(why)
        cls.cluster = Cluster(**cls.options)

    @classmethod
    def tearDownClass(cls):
        if hasattr(cls, "cluster"):
            cls.cluster.close()
