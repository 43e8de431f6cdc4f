"""Ranks of several accounts on one PC: who they are, and what each can see of the others' runs."""

import json
import os
import pathlib
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

from harness import account
from harness.cluster import BIN, Cluster, ClusterTest
from harness.process import eventually

RANK = """
echo "output of $(id -un)"
echo "complaint" >&2
echo '{"loss": 1}' >> "$HPC_METRICS_FILE"
echo x > "$HPC_RUN_DIR/checkpoint"
echo $$ > pid.part
mv pid.part pid
exec sleep 1000
"""

# Tries to open each of the things named in its input, and prints those that it could open.
PROBE = """
import json, os, socket, stat, sys
def get(path):
    kind = os.lstat(path).st_mode
    if stat.S_ISSOCK(kind):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if path.endswith("supervisor.sock")
                          else socket.SOCK_STREAM)
        s.connect(path)
    elif stat.S_ISDIR(kind):
        os.listdir(path)
    elif stat.S_ISLNK(kind):
        os.readlink(path)
    else:
        with open(path, "rb") as file:
            file.read(0 if path.endswith("/mem") else 1)
def ask(address):
    s = socket.create_connection(address, 5)
    s.settimeout(1)
    try:
        if s.recv(1) == b"":
            raise OSError("closed")
    except socket.timeout:
        pass  # it waits for what we have to say
got = []
for thing in json.load(sys.stdin):
    try:
        if isinstance(thing, list):
            ask(tuple(thing))
        elif thing.startswith("kill "):
            os.kill(int(thing[5:]), 0)
        else:
            get(thing)
        got.append(thing)
    except OSError:
        pass
print(json.dumps(got))
"""


def as_account(name, *command, **options):
    """Runs a command as that account, with no right of ours."""
    return subprocess.run(["setpriv", "--reuid", name, "--regid", name, "--init-groups",
                           *map(str, command)],
                          capture_output=True, text=True, timeout=60, cwd="/", **options)


def probe(name, things):
    done = as_account(name, sys.executable, "-c", PROBE, input=json.dumps(things))
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def environ(pid):
    entries = pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def tree(folder):
    return [folder, *folder.rglob("*")]


def skip_unless_root():
    if not account.needed():
        raise unittest.SkipTest("only a worker of root's runs ranks as other accounts")


class Run:
    """One run of a user, in a workspace of their own."""

    def __init__(self, cluster, user, secret):
        self.cluster, self.user, self.secret = cluster, user, secret
        self.workspace = cluster.dir / f"home-{user}"
        self.workspace.mkdir(mode=0o700)
        shutil.chown(self.workspace, user)
        # The run is submitted through the coordinator's socket, which knows the account of the
        # caller.
        done = as_account(
            user, BIN / "hpcctl", "run", "--detach", "--json", "--env", "HF_TOKEN", "--env-secret",
            "UNNAMED", "--workdir", self.workspace, "--store", "worker", "--", "sh", "-c", RANK,
            env={**cluster.env, "HF_TOKEN": f"stored-{secret}", "UNNAMED": f"unstored-{secret}"})
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        self.id = json.loads(done.stdout)["id"]
        eventually(lambda: (self.workspace / "pid").exists(), f"{user}'s rank runs")
        self.pid = int((self.workspace / "pid").read_text())
        self.supervisor = int(self.status("PPid"))
        self.dir = cluster.dir / "pc1" / "attempts" / f"{self.id}.1"

    def status(self, field, pid=None):
        for line in pathlib.Path(f"/proc/{pid or self.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return line.split(":", 1)[1].strip()
        return None

    def files(self):
        """What is the user's own."""
        folders = (self.dir / "ranks", self.cluster.dir / "pc1" / "runs" / str(self.id),
                   self.workspace)
        return [str(path) for folder in folders for path in tree(folder)]

    def process(self):
        names = ("environ", "maps", "mem", "fd", "cwd", "exe", "root", "io", "auxv")
        return [f"kill {self.pid}", *(f"/proc/{self.pid}/{name}" for name in names)]

    def rendezvous(self):
        own = environ(self.pid)
        return [own["MASTER_ADDR"], int(own["MASTER_PORT"])]

    def all(self):
        return self.files() + self.process() + [self.rendezvous()]


class TwoUsersTest(unittest.TestCase):
    """Two users' runs at a time on one PC whose worker is root's."""

    @classmethod
    def setUpClass(cls):
        skip_unless_root()
        if not shutil.which("useradd"):
            raise unittest.SkipTest("no useradd here to make accounts with")
        cls.users = [f"hpct{os.getpid()}{letter}" for letter in "ab"]
        home = tempfile.mkdtemp(prefix="hpc-home-")
        cls.addClassCleanup(shutil.rmtree, home)
        for user, its_home in zip(cls.users, ("/nonexistent", home)):
            subprocess.run(["useradd", "--system", "--user-group", "--no-create-home", "--home-dir",
                            its_home, "--shell", "/usr/sbin/nologin", user], check=True)
            cls.addClassCleanup(subprocess.run, ["userdel", user], check=True)
        first, second = cls.users
        shutil.chown(home, second)
        cls.homes = {second: home}  # the other has none
        cls.cluster = Cluster(nodes=1, cpu_slots=2, accounts=f"{first}={first},{second}={second}")
        cls.addClassCleanup(cls.cluster.close)
        cls.runs = [Run(cls.cluster, first, "of-first")]
        # A new worker finds the run, as after an upgrade.
        cls.cluster.workers["pc1"].kill()
        cls.cluster.start_worker("pc1")
        cls.runs.append(Run(cls.cluster, second, "of-second"))

    def pairs(self):
        first, second = self.runs
        return ((first, second), (second, first))

    def test_ranks_are_their_accounts_and_nothing_more(self):
        for run in self.runs:
            entry = pwd.getpwnam(run.user)
            uid, real = str(entry.pw_uid), "65533"
            self.assertEqual(run.status("Uid").split(), [uid] * 4)
            # The ranks must not be able to end their supervisor.
            self.assertEqual(run.status("Uid", run.supervisor).split(), [real, uid, real, uid])
            for pid in (run.pid, run.supervisor):
                self.assertEqual(run.status("Gid", pid).split(), [str(entry.pw_gid)] * 4)
                self.assertEqual(run.status("NoNewPrivs", pid), "1")
                for capabilities in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                    self.assertEqual(int(run.status(capabilities, pid), 16), 0)
            own = environ(run.pid)
            home = self.homes.get(run.user, f"{run.dir}/ranks/home")
            self.assertEqual((own["USER"], own["HOME"]), (run.user, home))

    def test_each_gets_at_their_own(self):
        # Without this, the next tests might find everything closed for some other reason.
        for run in self.runs:
            self.assertEqual(probe(run.user, run.all()), run.all())

    def test_neither_gets_at_the_others(self):
        for run, other in self.pairs():
            self.assertEqual(probe(other.user, run.all()), [])

    def test_neither_gets_at_a_supervisor(self):
        for run in self.runs:
            files = [f"/proc/{run.supervisor}/{name}"
                     for name in ("environ", "maps", "mem", "fd", "cwd")]
            files.append(f"kill {run.supervisor}")
            for reader in self.users:
                self.assertEqual(probe(reader, files), [])

    def test_neither_gets_at_what_is_roots(self):
        pc, master = self.cluster.dir / "pc1", self.cluster.dir / "coordinator"
        worker = self.cluster.workers["pc1"].pid
        things = [str(path)
                  for path in [*tree(master), pc, *pc.iterdir(), *tree(pc / "identity")]]
        things += [str(path) for run in self.runs
                   for path in [run.dir, *run.dir.iterdir()] if path.name != "ranks"]
        things += [f"kill {worker}", f"/proc/{worker}/environ", f"/proc/{worker}/maps"]
        for name in ("record", "journal", "supervisor.sock"):
            self.assertIn(str(self.runs[0].dir / name), things)
        for reader in self.users:
            self.assertEqual(probe(reader, things), [])

    def test_nobody_may_write_there_either(self):
        for run, other in self.pairs():
            for path in map(pathlib.Path, run.files()):
                self.assertEqual(stat.S_IMODE(path.lstat().st_mode) & 0o022, 0, path)
            touch = as_account(other.user, "touch", run.dir / "planted")
            self.assertIn("Permission denied", touch.stderr)

    def test_neither_ends_the_others(self):
        for run, other in self.pairs():
            done = as_account(other.user, BIN / "hpcctl", "cancel", run.id, env=self.cluster.env)
            self.assertEqual(done.returncode, 121, done.stderr)
            self.assertIn(f"is {run.user}'s; you are {other.user}", done.stderr)

    def test_no_list_of_processes_shows_a_secret(self):
        for run, other in self.pairs():
            seen = as_account(other.user, "ps", "axwwe", "-o", "args").stdout
            self.assertIn("hpc-supervisor", seen)
            self.assertIn(f"stored-{other.secret}", seen)  # one's own environment
            self.assertNotIn(f"stored-{run.secret}", seen)

    def test_a_secret_that_is_not_to_be_stored_is_in_no_file(self):
        for path in self.cluster.dir.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"unstored-of-", path.read_bytes(), path)
        for run in self.runs:
            self.assertIn("unstored-of-", environ(run.pid)["UNNAMED"])

    def test_zz_the_worker_ends_ranks_of_every_account(self):
        for run in self.runs:
            self.cluster.hpcctl("cancel", run.id)
            self.cluster.wait_state(run.id, "cancelled")
            self.assertFalse(pathlib.Path(f"/proc/{run.pid}").exists())
            output = self.cluster.hpcctl("logs", run.id).stdout
            self.assertIn(f"output of {run.user}", output)
            self.assertEqual(len(self.cluster.json("metrics", run.id)), 1)
            eventually(lambda: not run.dir.exists(), "the attempt's files are gone")


class RefusalTest(ClusterTest):
    """Accounts that cannot be had."""

    options = {"nodes": 1, "accounts": "anna=nobody"}

    @classmethod
    def setUpClass(cls):
        skip_unless_root()
        super().setUpClass()

    def start_fails(self, *args, prefix=()):
        done = subprocess.run(
            [*prefix, str(BIN / "hpc-worker"), "--coordinator", self.cluster.listen, "--insecure",
             "--state-dir", f"{self.cluster.dir}/{self._testMethodName}", *args],
            capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_a_worker_does_not_start_with_an_account_that_is_not_there(self):
        self.assertIn("no account 'no-such-account'",
                      self.start_fails("--accounts", "anna=no-such-account"))

    def test_root_is_no_account_for_ranks(self):
        self.assertIn("ranks never run as root", self.start_fails("--accounts", "*=root"))

    def test_without_the_usual_account_the_command_that_makes_it_is_named(self):
        try:
            pwd.getpwnam("hpc")
            self.skipTest("this machine has the account hpc")
        except KeyError:
            pass
        self.assertIn("useradd --system", self.start_fails())

    def test_a_worker_of_a_user_has_only_that_user(self):
        self.assertIn("only a worker that runs as root",
                      self.start_fails("--accounts", "*=games", prefix=[
                          "setpriv", "--reuid", "nobody", "--clear-groups"]))

    def test_a_run_of_somebody_without_an_account_says_so(self):
        done = self.cluster.hpcctl("run", "--", "true", check=False)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("there is no account for runs of root", done.stderr)


class InheritedTest(ClusterTest):
    """What an admin's shell has is not for everybody's ranks."""

    options = {"nodes": 1, "worker_env": {"pc1": {
        "AWS_ACCESS_KEY_ID": "AKIA1", "AWS_PROFILE": "admin", "DATABASE_URL": "postgres://root:pw@db/x",
        "TZ": "Europe/Vienna", "HF_HOME": "/data/hf", "NCCL_BUFFSIZE": "1048576",
        "HPC_WORKER_RANK_ENV": "HF_HOME,NCCL_*"}}}

    @classmethod
    def setUpClass(cls):
        skip_unless_root()
        super().setUpClass()

    def test_ranks_of_another_account_begin_as_its_login_does(self):
        shown = self.cluster.hpcctl("run", "--", "env").stdout.splitlines()
        env = dict(line.split("=", 1) for line in shown if "=" in line)
        shell = pwd.getpwnam(account.NAME).pw_shell
        self.assertEqual((env["USER"], env["LOGNAME"], env["SHELL"], env["TZ"]),
                         (account.NAME, account.NAME, shell, "Europe/Vienna"))
        self.assertEqual(env["PATH"], self.cluster.env["PATH"])
        self.assertEqual((env["HF_HOME"], env["NCCL_BUFFSIZE"]), ("/data/hf", "1048576"))
        for key in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "DATABASE_URL", "XDG_CONFIG_HOME"):
            self.assertNotIn(key, env)


class ReachTest(ClusterTest):
    """What the account cannot reach is refused before anything starts."""

    options = {"nodes": 1}

    @classmethod
    def setUpClass(cls):
        skip_unless_root()
        super().setUpClass()
        cls.closed = cls.cluster.dir / "closed"
        (cls.closed / "inner").mkdir(parents=True)
        (cls.closed / "tool").write_text("#!/bin/sh\n")
        (cls.closed / "tool").chmod(0o755)
        cls.closed.chmod(0o700)

    def test_a_closed_workspace(self):
        for folder in (self.closed, self.closed / "inner"):
            done = self.cluster.hpcctl("run", "--workdir", folder, "--", "true", check=False)
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn("by the account nobody", done.stderr)

    def test_a_closed_program(self):
        done = self.cluster.hpcctl("run", "--", self.closed / "tool", check=False)
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn("may not be reached by the account nobody", done.stderr)


@unittest.skipUnless(account.needed(), "only ranks of another account than the worker's get a "
                                       "supervisor that waits for the next attempt")
class ReuseTest(unittest.TestCase):
    """What a worker keeps from one attempt of an account to the next."""

    def supervisors(self, cluster, runs):
        """Of as many runs, one after the other, as their ranks see them."""
        return [cluster.hpcctl("run", "--", "sh", "-c", "echo $PPID").stdout for _ in range(runs)]

    def test_a_supervisor_serves_the_next_attempt(self):
        with Cluster(nodes=1, env={"HPC_WORKER_NO_REUSE": "0"}) as cluster:
            # The last one may not have put all away yet when the next one begins.
            eventually(lambda: len(set(self.supervisors(cluster, 2))) == 1, "one serves two")

    def test_without_reuse_each_attempt_gets_a_new_one_and_new_folders(self):
        for told in ({"worker_args": ["--no-reuse"]}, {"env": {"HPC_WORKER_NO_REUSE": "1"}}):
            with self.subTest(told), Cluster(nodes=1, **told) as cluster:
                self.assertEqual(len(set(self.supervisors(cluster, 5))), 5)
                worker = cluster.dir / "pc1"
                self.assertFalse((worker / "spare").exists())
                for folder in ("attempts", "runs", "supervisors"):
                    eventually(lambda: os.listdir(worker / folder) == [], f"{folder} is empty", 5)


if __name__ == "__main__":
    unittest.main()
