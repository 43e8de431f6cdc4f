"""Several PCs on one machine: a network namespace each, on a bridge of their own.

Needs root and ip(8). The addresses are 10.77.<n>.x, reachable from the namespaces only.
"""

import os
import subprocess
import tempfile
import uuid


class Network:
    """A bridge in a namespace of its own, and one namespace per PC."""

    def __init__(self, names):
        self.tag = f"h{os.getpid() % 100000}"
        self.subnet = 1 + os.getpid() % 250
        self.hosts = {}
        self.boots = {}  # by name: the file with the boot id of a PC that was rebooted
        self._made = []
        try:
            self._make(names)
        except Exception:
            self.close()
            raise

    @staticmethod
    def available():
        """None if namespaces can be made here, else why not."""
        if os.geteuid() != 0:
            return "network namespaces need root"
        probe = f"hprobe{os.getpid()}"
        done = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
        if done.returncode != 0:
            return f"network namespaces cannot be made here: {done.stderr.strip()}"
        subprocess.run(["ip", "netns", "del", probe], check=False)
        return None

    def _ip(self, *args, netns=None):
        command = ["ip"] + (["-n", netns] if netns else []) + [str(a) for a in args]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def _make(self, names):
        self.switch = f"{self.tag}-sw"
        self._namespace(self.switch)
        self._ip("link", "add", "br0", "type", "bridge", netns=self.switch)
        self._ip("link", "set", "br0", "up", netns=self.switch)
        for index, name in enumerate(names, 1):
            netns = f"{self.tag}-{name}"
            self._namespace(netns)
            self._ip("link", "add", f"p{index}", "type", "veth", "peer", "name", "eth0",
                     "netns", netns, netns=self.switch)
            self._ip("link", "set", f"p{index}", "master", "br0", "up", netns=self.switch)
            address = f"10.77.{self.subnet}.{index}"
            self._ip("addr", "add", f"{address}/24", "brd", "+", "dev", "eth0", netns=netns)
            self._ip("link", "set", "lo", "up", netns=netns)
            self._ip("link", "set", "eth0", "up", netns=netns)
            self._ip("route", "add", "default", "dev", "eth0", netns=netns)
            self.hosts[name] = (netns, address, f"p{index}")

    def _namespace(self, netns):
        # The name has our process number in it. One that is there is of a process that was killed.
        if os.path.exists(f"/run/netns/{netns}"):
            self._ip("netns", "del", netns)
        self._ip("netns", "add", netns)
        self._made.append(netns)

    def prefix(self, name, new_boot=False):
        """What runs a command on that PC; `new_boot` gives it another boot id from then on."""
        enter = ["ip", "netns", "exec", self.hosts[name][0]]
        if new_boot:
            self._forget_boot(name)
            file, self.boots[name] = tempfile.mkstemp(prefix="hpc-boot-")
            os.write(file, f"{uuid.uuid4()}\n".encode())
            os.fchmod(file, 0o444)
            os.close(file)
        if name not in self.boots:
            return enter
        # `ip netns exec` has made a mount namespace of its own, so nobody else sees this file.
        return enter + ["sh", "-c", f"mount --bind {self.boots[name]} "
                        '/proc/sys/kernel/random/boot_id && exec "$@"', "sh"]

    def _forget_boot(self, name):
        if name in self.boots:
            os.unlink(self.boots.pop(name))

    def address(self, name):
        return self.hosts[name][1]

    def mac(self, name):
        out = self._ip("-o", "link", "show", "eth0", netns=self.hosts[name][0])
        return out.split("link/ether ")[1].split()[0]

    def cable(self, name, up):
        """Pulls or plugs the PC's cable at the switch."""
        self._ip("link", "set", self.hosts[name][2], "up" if up else "down", netns=self.switch)

    def throttle(self, name, rate, burst="32kb"):
        """The PC's port carries so much each way: "100mbit". A burst from 128kb on lets what the kernel
        sends in one piece pass whole, which costs a fraction of the CPU."""
        for netns, device in ((self.hosts[name][0], "eth0"), (self.switch, self.hosts[name][2])):
            subprocess.run(["tc", "-n", netns, "qdisc", "replace", "dev", device, "root", "tbf",
                            "rate", rate, "burst", burst, "latency", "50ms"], check=True)

    def forget_connections(self, name, peer):
        """The PC forgets what TCP connections it has with that one, and says so to nobody whom it
        cannot reach."""
        subprocess.run(["ip", "netns", "exec", self.hosts[name][0], "ss", "-K", "-tn", "dst",
                        self.address(peer)], check=True, capture_output=True)

    def part(self, a, b, apart=True):
        """What one says does not reach the other any more, or does again; all else does."""
        for here, there in ((a, b), (b, a)):
            self._ip("route", "add" if apart else "del", "blackhole", f"{self.address(there)}/32",
                     netns=self.hosts[here][0])

    def pids(self, name):
        """Of every process on that PC."""
        return [int(pid) for pid in self._ip("netns", "pids", self.hosts[name][0]).split()]

    def close(self):
        for name in list(self.boots):
            self._forget_boot(name)
        for netns in reversed(self._made):
            subprocess.run(["ip", "netns", "del", netns], capture_output=True, check=False)
        self._made = []
