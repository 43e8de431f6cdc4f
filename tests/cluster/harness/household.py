"""A cluster whose PCs fall asleep and wake: a worker that ends stands for a PC that sleeps."""

import json
import signal
import subprocess

from .cluster import BIN, Cluster
from .process import eventually


class Household(Cluster):
    """PCs in network namespaces with one slot each; a command of the owner's takes little time."""

    def __init__(self, nodes, coordinator_args=()):
        super().__init__(nodes=nodes, cpu_slots=1, network=True, coordinator_args=coordinator_args)

    def start_coordinator(self):
        if "--wake-hook" not in self.coordinator_args:
            self.coordinator_args += ["--wake-hook", f"touch {self.dir}/wake.$HPC_NODE"]
        super().start_coordinator()

    def start_worker(self, name, args=(), new_boot=False, ready=True):
        command = self.script(f"power.{name}.sh", "#!/bin/sh\n"
                              f"touch {self.dir}/slept.{name}\n"
                              f"kill -TERM $(cat {self.dir}/pid.{name})\n")
        worker = super().start_worker(
            name, [*args, "--power-command", command, "--wake-hook-known"], new_boot, ready)
        (self.dir / f"pid.{name}").write_text(str(worker.pid))
        return worker

    def slept(self, name):
        """Whether the PC was ever put to sleep."""
        return (self.dir / f"slept.{name}").exists()

    def was_called(self, name):
        """Whether somebody wants the PC to wake."""
        return (self.dir / f"wake.{name}").exists()

    def wake_called(self):
        """Starts every PC that sleeps and is wanted. A PC that is only lost is on, and a packet to it
        changes nothing."""
        for name in self.names:
            if not self.was_called(name) or self.workers[name].alive():
                continue
            if self._state_of(name) == "lost":
                (self.dir / f"wake.{name}").unlink()
            elif self._state_of(name) == "waking":
                (self.dir / f"wake.{name}").unlink()
                self.start_worker(name, new_boot=True, ready=False)

    def _state_of(self, name):
        done = self.hpcctl("nodes", "--json", check=False)
        nodes = json.loads(done.stdout) if done.returncode == 0 else []
        return next((node["state"] for node in nodes if node["name"] == name), "")

    def heal(self):
        """Starts, plugs in, thaws and lends everything; returns once all PCs are there."""
        self.coordinator.signal(signal.SIGCONT)
        if not self.coordinator.alive():
            self.start_coordinator()
        for name in ["master", *self.names]:
            self.network.cable(name, True)
        for name in self.names:
            self.workers[name].signal(signal.SIGCONT)
        eventually(self._all_connected, "all PCs are connected", 40, 0.1)
        for name in self.names:
            self.on_pc("lend", name)  # which knows of its owner's wish before the coordinator does
        for node in self.json("nodes"):
            if node["reclaimed"]:
                self.hpcctl("lend", node["name"])

    def on_pc(self, command, name, *args):
        """What an owner types at his PC."""
        return subprocess.run(
            [BIN / "hpc-worker", command, "--state-dir", self.dir / name, *args],
            capture_output=True, text=True, timeout=40, env=self.env)

    def _all_connected(self):
        for name in self.names:
            if not self.workers[name].alive():
                self.start_worker(name, new_boot=self.slept(name), ready=False)
        return self.json("status")["nodes_connected"] == len(self.names)
