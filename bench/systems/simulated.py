"""hpcctl with thousands of nodes: a real coordinator, and one process that simulates them all."""

import math
import re

from harness.cluster import BIN, Cluster
from harness.process import Process, eventually

SIMULATOR = BIN.parent / "bench/hpc-node-simulator"
USES = 1000  # the most that a token allows
# Connections that have just ended still hold as many ports again.
CONNECTIONS_TO_AN_ADDRESS = 2500


def why_not():
    return "" if SIMULATOR.exists() else (
        f"{SIMULATOR} is not there: cmake --build {BIN.parent} --target hpc-node-simulator")


class SimulatedCluster(Cluster):
    """`connections`: that the nodes share, without certificates; 0: each has its own, mutual TLS."""

    name = "hpcctl"

    def __init__(self, simulated, connections=0, within="0s"):
        if why := why_not():
            raise FileNotFoundError(why)
        self.simulated = simulated
        self.connections = connections
        self.within = within
        self.simulator = None
        super().__init__(nodes=0, coordinator_args=["--insecure"] if connections else [])
        try:
            self.start_simulator()
        except BaseException:
            self.close()
            raise

    def make_authority(self):
        if self.connections:
            return
        super().make_authority()
        self.listen = "0.0.0.0:0"  # listens on all of 127.0.0.0/8

    def make_token(self, *args):
        return "" if self.connections else super().make_token(*args)

    def start_simulator(self):
        port = self.listen.rpartition(":")[2]
        addresses = 1
        args = ["--nodes", self.simulated, "--within", self.within]
        if self.connections:
            args += ["--insecure", "--connections", self.connections]
        else:
            addresses = math.ceil(self.simulated / CONNECTIONS_TO_AN_ADDRESS)
            args += ["--state-dir", self.dir / "nodes"]
            for _ in range(math.ceil(self.simulated / USES)):
                args += ["--token", self.make_token("--uses", USES)]
        for i in range(addresses):
            args += ["--coordinator", f"127.0.0.{i + 1}:{port}"]
        self.simulator = Process([SIMULATOR, *args], self.dir / "simulator.log", env=self.env)
        self.wait_connected(timeout=1800)

    def times_connected(self):
        """When all nodes were connected, each time, as of time.monotonic()."""
        found = re.findall(r"all nodes are connected .*monotonic_s=(\S+)", self.simulator.output())
        return [float(when) for when in found]

    def wait_connected(self, times=1, timeout=300):
        def seen():
            if not self.simulator.alive():
                raise AssertionError(f"the simulator has ended:\n{self.simulator.output()}")
            return len(self.times_connected()) >= times
        eventually(seen, f"{self.simulated} nodes are connected", timeout, interval=0.1)

    def close(self):
        if self.simulator:
            self.simulator.kill()
        super().close()
