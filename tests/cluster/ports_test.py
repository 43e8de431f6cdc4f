"""What a stranger on the network finds: which ports answer, and what they say."""

import json
import subprocess
import sys

from harness.cluster import ClusterTest
from harness.process import eventually

# Runs on a PC that is not part of the gang. For every port of every address it tells whether the
# port is open, and what it says to a stranger.
SCAN = r"""
import errno, json, socket, sys
GREETING = b"GET / HTTP/1.1\r\n\r\n" + bytes(range(64))
def says(address, port):
    with socket.create_connection((address, port), timeout=2) as s:
        try:
            s.sendall(GREETING)
            s.settimeout(1)
            return s.recv(100).hex()
        except TimeoutError:
            return "waits"
        except ConnectionError:
            return ""
found = {}
for address in sys.argv[1:]:
    found[address] = {}
    for port in range(1, 65536):
        s = socket.socket()
        s.settimeout(2)
        if s.connect_ex((address, port)) == 0:
            found[address][port] = None
        s.close()
    for port in found[address]:
        found[address][port] = says(address, port)
print(json.dumps(found))
"""

WAITS = "import os, pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(.05)\n"


class PortsTest(ClusterTest):
    # No node is lost while ports are scanned.
    options = {"nodes": 4, "network": True,
               "coordinator_args": ["--lease", "1m", "--reconnect-grace", "1m"]}

    def scan(self, seen_from="pc4"):
        """What answers, by PC: {port: what it said}."""
        network = self.cluster.network
        hosts = [name for name in ["master", *self.cluster.names] if name != seen_from]
        out = subprocess.run(
            [*network.prefix(seen_from), sys.executable, "-c", SCAN,
             *[network.address(name) for name in hosts]],
            capture_output=True, text=True, timeout=120, check=True).stdout
        found = json.loads(out)
        return {name: {int(port): said for port, said in found[network.address(name)].items()}
                for name in hosts}

    def test_only_the_documented_ports_answer_and_none_talks_to_a_stranger(self):
        listen = int(self.cluster.listen.rsplit(":", 1)[1])
        quiet = {"master": [listen], "pc1": [], "pc2": [], "pc3": []}
        self.assertEqual({name: list(ports) for name, ports in self.scan().items()}, quiet)

        # ---- while a gang runs on the other three
        script = self.cluster.script("waits.py", WAITS)
        run = self.cluster.submit("-N", 3, "--exclude", "pc4", "--", "python3", script,
                                  self.cluster.dir / "go")
        self.cluster.wait_state(run, "running")
        shown = self.cluster.json("show", run)
        rendezvous = self.cluster.sql("SELECT master_port FROM attempts WHERE run=?",
                                      run)[0]["master_port"]
        first = next(rank["node"] for rank in shown["ranks"] if rank["rank"] == 0)
        found = self.scan()
        self.assertEqual({name: list(ports) for name, ports in found.items()},
                         {**quiet, first: [rendezvous]})
        # At most there is a TLS alert: type 21, seven bytes.
        self.assertRegex(found["master"][listen], "^(15[0-9a-f]{12})?$")
        self.assertEqual(found[first][rendezvous], "", "it says a word to a stranger")
        # The gang's own nodes get through to it.
        other = next(name for name in ("pc1", "pc2", "pc3") if name != first)
        self.assertEqual(self.greet(other, first, rendezvous), "waits")

        # ---- while one of its workers is away: the gang's nodes can tell its supervisor to end
        self.cluster.workers[other].kill()
        (recall,) = self.scan_one(other)
        self.assertEqual(self.greet("pc4", other, recall), "closed")
        self.assertEqual(self.greet(first, other, recall), "waits")
        self.cluster.start_worker(other)

        # ---- after it
        (self.cluster.dir / "go").touch()
        self.cluster.wait_state(run, "succeeded")
        eventually(lambda: {name: list(ports) for name, ports in self.scan().items()} == quiet,
                   "the rendezvous port is closed")

    def scan_one(self, name):
        """The ports of this PC that answer, seen from one outside the gang."""
        network = self.cluster.network
        out = subprocess.run([*network.prefix("pc4"), sys.executable, "-c", SCAN,
                              network.address(name)],
                             capture_output=True, text=True, timeout=120, check=True).stdout
        return [int(port) for port in json.loads(out)[network.address(name)]]

    def greet(self, origin, host, port):
        """What the port says to a PC that may ask: nothing, until it is asked properly."""
        network = self.cluster.network
        return subprocess.run(
            [*network.prefix(origin), sys.executable, "-c",
             "import socket, sys\n"
             "s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=2)\n"
             "s.settimeout(0.3)\n"
             "try: print(s.recv(1).hex() or 'closed')\n"
             "except TimeoutError: print('waits')\n", network.address(host), str(port)],
            capture_output=True, text=True, timeout=30, check=True).stdout.strip()

    def test_only_tls_1_3_with_its_own_ciphers_is_spoken(self):
        def handshake(*options):
            done = subprocess.run(
                [*self.cluster.network.prefix("pc4"), "openssl", "s_client", "-connect",
                 self.cluster.listen, "-alpn", "h2", *options],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                timeout=20)
            return done.stdout

        for version in ("-tls1", "-tls1_1", "-tls1_2"):
            self.assertIn("Cipher is (NONE)", handshake(version), version)
        spoken = set()
        for cipher in ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                       "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256",
                       "TLS_AES_128_CCM_8_SHA256"):
            if f"TLSv1.3, Cipher is {cipher}" in handshake("-tls1_3", "-ciphersuites", cipher):
                spoken.add(cipher)
        self.assertEqual(spoken, {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                                  "TLS_CHACHA20_POLY1305_SHA256"})
