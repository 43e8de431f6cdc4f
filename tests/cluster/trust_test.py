"""Who gets in, what each may do, and how one is shut out again."""

import base64
import contextlib
import os
import pathlib
import re
import resource
import signal
import socket
import ssl
import struct
import subprocess
import time
import unittest

from harness.cluster import BIN, Cluster
from harness.forger import Forger
from harness.process import eventually

# A call that asks for the nodes: an empty gRPC message.
LIST_NODES = ["-sS", "--http2", "-k", "-X", "POST", "-H", "content-type: application/grpc",
              "-H", "te: trailers", "--data-binary", "@-", "-D", "-", "-o", "/dev/null"]


class TrustTest(unittest.TestCase):
    """One cluster per class, of `nodes` PCs."""

    nodes = 0

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=cls.nodes, coordinator_args=("--user-priority", "10"))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def login(self, name, role="user", **env):
        """A person on a laptop, who reaches the coordinator over the network only."""
        env = {"XDG_CONFIG_HOME": str(self.cluster.dir / f"laptop-{name}"),
               "HPC_COORDINATOR": self.cluster.listen, **env}
        self.cluster.hpcctl("login", self.cluster.make_token("--role", role), "--name", name,
                            env=env)
        return env

    def refused(self, *args, env, says):
        done = self.cluster.hpcctl(*args, env=env, check=False)
        self.assertEqual(done.returncode, 121, f"{args}: {done.stdout}{done.stderr}")
        self.assertIn(says, done.stderr)

    def told(self, *words):
        """Whether an event of security has all of the words."""
        return [e["text"] for e in self.cluster.json("events", "--security")
                if all(word in e["text"] for word in words)]


class JoinTest(TrustTest):
    """From nothing to a member, and each way in which that fails."""

    def join(self, name, token, folder=None):
        return subprocess.run(
            [BIN / "hpc-worker", "join", token, "--name", name, "--state-dir",
             self.cluster.dir / (folder or name)],
            capture_output=True, text=True, timeout=30, env=self.cluster.env)

    def not_let_in(self, token, *says, name="stranger", folder=None):
        done = self.join(name, token, folder)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for text in says:
            self.assertIn(text, done.stderr)

    def test_one_pasted_line_makes_a_node_and_another_takes_its_place(self):
        out = self.cluster.hpcctl("token", "create").stdout
        self.assertEqual(len(out.splitlines()), 1)
        self.cluster.names = ["pc1"]
        self.cluster.join("pc1", out.strip())
        self.cluster.start_worker("pc1")
        eventually(lambda: self.cluster.node("pc1")["state"] == "idle", "pc1 is a node")
        identity = self.cluster.dir / "pc1/identity/identity.pem"
        self.assertEqual(identity.stat().st_mode & 0o777, 0o600)

        self.not_let_in(self.cluster.make_token(), "a PC named pc1 is a member already",
                        "hpcctl token create --name pc1", name="pc1", folder="twin")
        done = self.join("pc1", self.cluster.make_token("--name", "pc1"), "twin")
        self.assertEqual(done.returncode, 0, done.stderr)
        eventually(lambda: "replaced" in self.cluster.workers["pc1"].output() or
                   "taken this one's place" in self.cluster.workers["pc1"].output(),
                   "the old pc1 is told", 5)

    def test_a_token_that_is_no_good_is_refused_in_words(self):
        token = self.cluster.make_token()
        self.not_let_in(token[:-9], "its end is missing")
        middle = len(token) // 2
        wrong = "A" if token[middle] != "A" else "B"
        self.not_let_in(token[:middle] + wrong + token[middle + 1:], "mistyped")
        self.not_let_in("hello", "tokens begin with hpc1-")
        self.cluster.join("pc2", token)
        self.not_let_in(token, "used up", "hpcctl token create")
        revoked = self.cluster.make_token()
        self.cluster.hpcctl("token", "revoke", self.cluster.json("token", "list")[0]["id"])
        self.not_let_in(revoked, "is revoked")
        short = self.cluster.make_token("--expires", "1s")
        time.sleep(1.1)
        self.not_let_in(short, "expired at")
        self.not_let_in(self.cluster.make_token("--role", "user"), "hpcctl login")
        self.assertFalse((self.cluster.dir / "stranger/identity").exists())
        self.assertTrue(self.told("stranger", "127.0.0.1", "used up"))

    def test_somebody_else_at_the_address_is_named_and_told_nothing(self):
        with Cluster(nodes=0) as other:
            token = self.cluster.make_token("--address", other.listen)
            self.not_let_in(token, other.listen, "intercepting", name="pc3")
            self.assertFalse([e for e in other.json("events", "--security")
                              if "pc3" in e["text"] or e["kind"] == "security.refused"])
            self.cluster.join("pc3", self.cluster.make_token())
            self.not_let_in(other.make_token(), "the token is for another cluster",
                            self.cluster.listen, other.listen, name="pc3")

    def test_every_address_that_was_tried_is_told(self):
        token = self.cluster.make_token("--address", "127.0.0.1:1", "--address", "127.0.0.2:1")
        self.not_let_in(token, "127.0.0.1:1", "127.0.0.2:1")
        token = self.cluster.make_token("--address", "127.0.0.1:1", "--address",
                                        self.cluster.listen)
        self.assertIn("passed over", self.cluster.join("pc4", token).stdout)
        addresses = (self.cluster.dir / "pc4/identity/addresses").read_text().split()
        self.assertEqual(addresses[0], self.cluster.listen)


class MachineTest(TrustTest):
    """What an administrator has configured of OpenSSL is not for our keys."""

    @unittest.skipIf(b"libcrypto" in subprocess.run(["ldd", BIN / "hpcctl"], capture_output=True).stdout,
                     "this build has the machine's OpenSSL, and obeys it")
    def test_a_provider_that_cannot_be_loaded_keeps_nobody_out(self):
        config = self.cluster.dir / "openssl.cnf"
        config.write_text("openssl_conf = all\n[all]\nproviders = one\n[one]\nabsent = it\n"
                          "[it]\nactivate = 1\n")
        env = self.login("ada", OPENSSL_CONF=str(config))
        self.assertIn("ada", self.cluster.hpcctl("whoami", env=env).stdout)
        self.cluster.hpcctl("cluster", "init", "--state-dir", self.cluster.dir / "another",
                            env={"OPENSSL_CONF": str(config),
                                 "XDG_CONFIG_HOME": str(self.cluster.dir / "another-admin")})


class RoleTest(TrustTest):
    """What a user, an owner and an admin may do."""

    nodes = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.workers["pc2"].terminate()
        cls.cluster.start_worker("pc2", ["--owner", "bert"])

    def test_each_does_what_is_theirs(self):
        anna, bert, carla = self.login("anna"), self.login("bert"), self.login("carla", "admin")
        me = self.cluster.hpcctl("whoami", env=anna).stdout
        self.assertIn("anna", me)
        self.assertIn("user", me)

        run = self.cluster.hpcctl("run", "--detach", "--", "sleep", "600", env=anna)
        self.assertEqual(run.returncode, 0)
        self.assertEqual(self.cluster.json("show", 1)["run"]["user"], "anna")
        self.refused("cancel", 1, env=bert, says="anna")
        self.assertIn("1", self.cluster.hpcctl("runs", env=bert).stdout)
        self.refused("hold", 1, env=bert, says="anna")
        self.cluster.hpcctl("cancel", 1, env=anna)
        self.refused("run", "--priority", 11, "--", "true", env=anna, says="is 10")
        self.cluster.hpcctl("run", "--priority", 10, "--", "true", env=anna)
        self.cluster.hpcctl("run", "--priority", 11, "--", "true", env=carla)

        self.refused("reclaim", "pc1", env=bert, says="pc1 names no owner")
        self.refused("reclaim", "pc2", env=anna, says="pc2 is of bert")
        self.cluster.hpcctl("reclaim", "pc2", env=bert)
        self.cluster.hpcctl("lend", "pc2", env=bert)
        self.cluster.hpcctl("reclaim", "pc1", env=carla)
        self.cluster.hpcctl("lend", "pc1", env=carla)

        for args in (("token", "create"), ("token", "list"), ("cert", "list"),
                     ("cert", "revoke", "anna"), ("cluster", "rotate-ca"),
                     ("events", "--security")):
            self.refused(*args, env=anna, says="")
            if args[0] == "cert" and args[1] == "list":
                self.assertIn("worker", self.cluster.hpcctl(*args, env=carla).stdout)
        self.assertTrue(self.told("user anna", "hpc.v1.Trust/CreateToken"))


class RevocationTest(TrustTest):
    """Shutting a member out, and renewing everybody."""

    nodes = 1

    def test_a_revoked_user_is_out_at_once_on_an_open_stream_too(self):
        dora = self.login("dora")
        follower = self.cluster.start("events", "-f", env=dora)
        eventually(lambda: follower.output(), "the follower has begun")
        self.cluster.hpcctl("cert", "revoke", "dora", "--reason", "left the flat")
        self.assertEqual(follower.wait(5), 121)
        self.assertIn("the certificate of user dora was revoked", follower.output())
        self.refused("nodes", env=dora, says="left the flat")
        self.assertTrue(self.told("revoked", "dora"))

    def test_a_revoked_pc_comes_back_as_it_is_told_to(self):
        worker = self.cluster.workers["pc1"]
        self.cluster.hpcctl("cert", "revoke", "worker/pc1")
        eventually(lambda: "To come in again" in worker.output(), "the PC is told how", 10)
        self.assertIn("hpcctl token create --role worker --name pc1", worker.output())
        self.assertIn("hpc-worker join TOKEN --name pc1", worker.output())
        self.assertNotIn("hpcctl login", worker.output())
        token = self.cluster.make_token("--role", "worker", "--name", "pc1")
        busy = self.cluster.join("pc1", token, check=False)
        self.assertIn("stop its worker first", busy.stderr)
        worker.terminate()
        self.cluster.join("pc1", token)
        self.cluster.start_worker("pc1")
        eventually(lambda: self.cluster.node("pc1")["state"] == "idle", "pc1 is back")

    def test_a_revoked_person_comes_back_as_she_is_told_to(self):
        fay = self.login("fay")
        self.cluster.hpcctl("cert", "revoke", "fay")
        self.refused("nodes", env=fay,
                     says="hpcctl token create --role user --name fay), and run hpcctl login TOKEN")
        self.refused("login", self.cluster.make_token("--role", "user"), "--name", "fay", env=fay,
                     says="fay was revoked")
        token = self.cluster.make_token("--role", "user", "--name", "fay")
        self.cluster.hpcctl("login", token, "--name", "fay", env=fay)
        self.cluster.hpcctl("nodes", env=fay)

    def test_a_rotated_authority_renews_whoever_connects(self):
        emil = self.login("emil")
        before = self.certificate(emil)
        old_token = self.cluster.make_token()
        self.cluster.hpcctl("cluster", "rotate-ca", "--keep-old", "1h")

        def renewed():
            self.cluster.hpcctl("nodes", env=emil)
            return self.certificate(emil) != before
        eventually(renewed, "emil's certificate is renewed behind a command", 5, interval=0.2)
        worker = self.cluster.dir / "pc1/identity/authorities.pem"
        self.cluster.restart_coordinator()
        eventually(lambda: worker.read_text().count("BEGIN") == 2, "pc1 knows the new authority")
        eventually(lambda: self.cluster.node("pc1")["state"] == "idle", "pc1 is back")
        done = self.cluster.join("late", old_token, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is revoked", done.stderr)
        self.cluster.join("late", self.cluster.make_token())

    @staticmethod
    def certificate(env):
        return pathlib.Path(env["XDG_CONFIG_HOME"], "hpc/identity/identity.pem").read_text()


class WrongCertificateTest(TrustTest):
    """Each kind of caller that must not be answered: refused, and written down."""

    nodes = 1

    def test_each_is_refused_in_words_and_written_down(self):
        keys, at = self.cluster.dir / "coordinator/keys", self.cluster.listen
        forger = Forger(keys, self.cluster.dir / "forger")

        def laptop(kind):
            return self.cluster.dir / f"laptop-{kind}"

        good = forger.membership(laptop("good"), at, "user", "gina")
        self.cluster.hpcctl("nodes", env=good)
        expired = forger.membership(laptop("expired"), at, "user", "gina",
                                    end="20210101000000Z")
        self.refused("nodes", env=expired, says="expired")
        early = forger.membership(laptop("early"), at, "user", "gina", start="20900101000000Z")
        self.refused("nodes", env=early, says="not valid before")
        server = forger.membership(laptop("server"), at, "coordinator", "coordinator",
                                   usage="serverAuth")
        self.refused("nodes", env=server, says="was not made for a client")
        worker = self.cluster.dir / "laptop-worker"
        (worker / "hpc").mkdir(parents=True)
        os.symlink(self.cluster.dir / "pc1/identity", worker / "hpc/identity")
        self.refused("nodes", env={"XDG_CONFIG_HOME": str(worker), "HPC_COORDINATOR": at},
                     says="a worker may not call hpc.v1.Nodes/List")
        with Cluster(nodes=0) as other:
            stranger = Forger(other.dir / "coordinator/keys", self.cluster.dir / "stranger")
            foreign = stranger.membership(laptop("foreign"), at, "user", "gina", authorities=keys)
            self.refused("nodes", env=foreign, says="not signed by this cluster's authority")
        for words in (("expired",), ("not valid before",), ("worker pc1", "Nodes/List"),
                      ("not signed by",)):
            self.assertTrue(self.told("127.0.0.1", *words), words)

    def test_without_a_certificate_nothing_is_answered(self):
        done = subprocess.run(
            ["curl", *LIST_NODES, f"https://{self.cluster.listen}/hpc.v1.Nodes/List"],
            input=bytes(5), capture_output=True)
        self.assertIn(b"grpc-status: 16", done.stdout, done.stderr)
        self.assertTrue(self.told("127.0.0.1", "hpc.v1.Nodes/List", "needs a certificate"))

    def test_older_tls_and_plain_text_are_not_spoken(self):
        def s_client(*args):
            return subprocess.run(["openssl", "s_client", "-connect", self.cluster.listen, *args],
                                  input="", capture_output=True, text=True, errors="replace",
                                  timeout=20)
        done = s_client("-tls1_2")
        self.assertIn("alert protocol version", done.stderr)
        done = s_client("-tls1_3", "-alpn", "h2")
        self.assertRegex(done.stdout, "New, TLSv1.3, Cipher is TLS_(AES|CHACHA20)")
        done = subprocess.run(["curl", "-sS", f"http://{self.cluster.listen}/"],
                              capture_output=True, text=True, timeout=20)
        self.assertNotEqual(done.returncode, 0)
        eventually(lambda: self.told("127.0.0.1", "no TLS 1.3"), "old TLS is written down")
        eventually(lambda: self.told("127.0.0.1", "plain text"), "plain text is written down")

    def test_a_silent_peer_is_looked_after(self):
        """The kernel asks whether it is there: gRPC does not."""
        with self.speak_http2() as sock:
            mine = sock.getsockname()[1]
            theirs = self.cluster.listen.rpartition(":")[2]
            shown = ["ss", "-tnoH", "sport", f":{theirs}", "dport", f":{mine}"]
            eventually(lambda: "timer:(keepalive" in subprocess.check_output(shown, text=True),
                       "the kernel counts the time until it asks", 5)

    def test_a_stranger_who_takes_calls_back_again_and_again_fills_no_memory(self):
        """Each call that was made costs ten kilobytes until the coordinator has looked at it."""
        said = re.search(r"the guard against floods of cancelled calls.*active=(.*)",
                         (self.cluster.dir / "coordinator.log").read_text())
        self.assertIsNotNone(said, "its start says whether there is a guard")
        if "yes" not in said[1]:
            self.skipTest(f"this build has no guard: {said[0]}")
        def literal(text):
            return bytes([len(text)]) + text.encode()
        fields = {":method": "POST", ":scheme": "https", ":path": "/hpc.v1.Trust/Join",
                  ":authority": "coordinator.hpc", "te": "trailers",
                  "content-type": "application/grpc"}
        block = b"".join(b"\0" + literal(name) + literal(value) for name, value in fields.items())
        made = struct.pack(">IBB", len(block) << 8 | 1, 4, 0)[:5]  # HEADERS; no more follow
        with self.speak_http2() as sock:
            with contextlib.suppress(OSError):  # it may be sent away, too
                for first in range(1, 200_000, 200):
                    sock.sendall(b"".join(
                        made + struct.pack(">I", id) + block
                        + struct.pack(">IBII", 4 << 8 | 3, 0, id, 8)  # RST_STREAM: cancelled
                        for id in range(first, first + 200, 2)))
            self.assertEqual(self.cluster.hpcctl("status").returncode, 0)
        status = pathlib.Path(f"/proc/{self.cluster.coordinator.pid}/status").read_text()
        self.assertLess(int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]), 250_000)

    @contextlib.contextmanager
    def speak_http2(self):
        """A connection of nobody, on which the coordinator has spoken."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        host, _, port = self.cluster.listen.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as plain, \
                context.wrap_socket(plain) as sock:
            sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            self.assertNotEqual(sock.recv(9), b"")
            yield sock


class SecretTest(TrustTest):
    """Tokens and keys are nowhere but where they belong."""

    nodes = 1

    def test_a_token_is_in_no_log_database_or_list_of_processes(self):
        token = self.cluster.make_token("--role", "user", "--uses", 2)
        # The program hides the token from ps(1) before it does anything slow, such as waiting for
        # an answer.
        mute = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(mute.close)
        slow = self.cluster.make_token("--address", f"127.0.0.1:{mute.getsockname()[1]}")
        waiting = subprocess.Popen(
            [BIN / "hpc-worker", "join", slow, "--name", "w", "--state-dir", self.cluster.dir / "w"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.cluster.env)
        line = pathlib.Path(f"/proc/{waiting.pid}/cmdline")
        try:
            eventually(lambda: b"****" in line.read_bytes(), "the token is hidden", 2)
            self.assertNotIn(slow.encode(), line.read_bytes())
        finally:
            waiting.kill()
            waiting.wait()
        env = {"XDG_CONFIG_HOME": str(self.cluster.dir / "laptop"),
               "HPC_COORDINATOR": self.cluster.listen}
        self.cluster.hpcctl("login", token, "--name", "hanna", env=env)
        self.assertEqual(self.places_of(token.encode()), [])
        line = token[len("hpc1-"):]
        secret = base64.urlsafe_b64decode(line + "=" * (-len(line) % 4))[1:17]
        self.assertEqual(self.places_of(secret), [])

    def test_a_private_key_is_in_its_own_file_only(self):
        for key_file in (self.cluster.dir / "coordinator/keys/authority.key",
                         self.cluster.dir / "coordinator/keys/coordinator.key",
                         self.cluster.dir / "pc1/identity/identity.pem"):
            self.assertEqual(key_file.stat().st_mode & 0o777, 0o600, key_file)
            secret = key_file.read_text().splitlines()[1].encode()
            self.assertEqual(self.places_of(secret), [key_file])

    def test_a_daemon_that_crashes_leaves_no_core_file(self):
        other = subprocess.Popen(["sleep", "60"], cwd=self.cluster.dir)
        self.assertTrue(self.dumps_core(other.pid), "or this test could not fail")
        other.wait()
        worker = self.cluster.workers["pc1"]
        for daemon, start in ((worker, lambda: self.cluster.start_worker("pc1")),
                              (self.cluster.coordinator, self.cluster.restart_coordinator)):
            self.assertFalse(self.dumps_core(daemon.pid), daemon.output())
            start()

    def dumps_core(self, pid):
        resource.prlimit(pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
        os.kill(pid, signal.SIGSEGV)
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_code == os.CLD_DUMPED

    def places_of(self, secret):
        self.assertGreaterEqual(len(secret), 16)
        return [path for path in self.cluster.dir.rglob("*")
                if path.is_file() and secret in path.read_bytes()]


if __name__ == "__main__":
    unittest.main()
