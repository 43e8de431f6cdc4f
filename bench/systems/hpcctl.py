"""hpcctl: a coordinator and workers on this machine, as tests/cluster starts them, with certificates."""

import contextlib
import json

from harness.cluster import BIN, Cluster
from harness.process import eventually
from measure import command, cpu

SLOTS = 8  # how many ranks a node takes at a time, like the CPUs of a node in systems/slurm.py


class Hpcctl(contextlib.AbstractContextManager):
    name = "hpcctl"

    def __init__(self, nodes=4, network=False, coordinator_args=()):
        self.nodes = nodes
        self.cpu = cpu.accounting("hpcctl")
        try:
            with self.cpu:
                # GPUs are hidden, also on a machine that has one, because all nodes are this
                # machine.
                self.cluster = Cluster(nodes=nodes, cpu_slots=SLOTS, network=network,
                                       coordinator_args=coordinator_args,
                                       env={"HPC_NVML_LIBRARY": "/nonexistent"})
        except BaseException:
            self.cpu.close()
            raise

    def __exit__(self, *_):
        self.cluster.close()
        self.cpu.close()

    @staticmethod
    def version():
        return command.run([BIN / "hpcctl", "version"], {}).out.strip()

    # ---- what is started

    def pids(self):
        return [self.cluster.coordinator.pid] + [w.pid for w in self.cluster.workers.values()]

    @property
    def coordinator_pid(self):
        return self.cluster.coordinator.pid

    @property
    def worker_pid(self):
        return self.cluster.workers["pc1"].pid

    def cpu_seconds(self):
        return self.cpu.seconds(self.pids())

    # ---- command lines

    def client(self, *words, tcp=False, **options):
        """Starts a client: by the Unix socket, or by TCP with a certificate."""
        env = {**self.cluster.env, "HPC_COORDINATOR": self.cluster.listen} if tcp else self.cluster.env
        return command.Command([BIN / "hpcctl", *words], env, **options)

    def gang(self, *words, tcp=False, options=()):
        return self.client("run", "-N", self.nodes, *options, "--", *words, tcp=tcp)

    def submit(self, *words):
        """One run of one rank; returns once it is on disk."""
        return self.client("run", "--detach", "--", *words)

    def submit_all(self, count, *words):
        """So many by one client; `count` ids come back, each once its run is on disk."""
        lines = self.cluster.dir / "lines.jsonl"
        lines.write_text((json.dumps({"command": list(words)}) + "\n") * count)
        return self.client("submit", lines)

    # ---- what dies

    def restart_coordinator(self):
        with self.cpu:
            self.cluster.restart_coordinator()

    # ---- what there is

    def wait_over(self, ids):
        self.client("wait", *ids).wait(timeout=600)

    def unfinished(self):
        status = self.cluster.json("status")
        return status["queued"] + status["running"]

    def settle(self, interval=0.02):
        eventually(lambda: self.unfinished() == 0, "hpcctl has nothing to do", 600, interval)

    def occupy(self):
        """Takes every slot of every node, until the cluster is closed."""
        for _ in range(self.nodes * SLOTS):
            self.submit("sleep", "100000").wait()
        eventually(lambda: self.cluster.json("status")["running"] == self.nodes * SLOTS,
                   "every slot is taken")
