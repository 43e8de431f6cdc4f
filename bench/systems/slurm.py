"""Slurm: munged, slurmctld and a slurmd for each node, all of our own, on loopback.

Nothing of a Slurm that this machine may be part of is used or changed: configuration, state, key,
sockets and ports are ours. Needs root, as slurmd does.

Tuned as far as its documentation goes, and beyond: with any Epilog, even /bin/true, slurmd reports the
end of a job by a message on which slurmctld schedules at once; without one a node is filled again
only at the scheduler's next turn, a second later.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from harness import beats
from harness.ports import free_ports
from harness.process import Process, eventually
from measure import command, cpu
from systems.hpcctl import SLOTS

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "slurmstepd", "srun", "sbatch", "squeue", "sinfo", "scancel",
            "scontrol")

CONF = """\
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={dir}/munge/socket,cred_expire=10
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool-%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd-%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,\
default_queue_depth=1000,bf_interval=1,bf_max_job_test=1000,bf_continue
PriorityType=priority/basic
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
SlurmdTimeout=10
ReturnToService=2
MailProg=/bin/true
Epilog=/bin/true
CompleteWait=0
MaxJobCount=25000
MaxArraySize=20001
TreeWidth=64
SlurmdParameters=config_overrides
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={slots} RealMemory=1000"


def find(program):
    return shutil.which(program, path=PATH)


def why_not():
    """None if Slurm can be started here."""
    if os.geteuid() != 0:
        return "slurmd needs root"
    missing = [program for program in PROGRAMS if find(program) is None]
    return f"not installed: {', '.join(missing)}" if missing else None


def _parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class _Beats(contextlib.AbstractContextManager):
    """A gang as harness/beats.py starts it, by Slurm."""

    def __init__(self, slurm, nodes):
        self.slurm = slurm
        self.count = nodes
        self.dir = pathlib.Path(tempfile.mkdtemp(dir=slurm.dir, prefix="beats-"))
        self.dir.chmod(0o777)
        script = self.dir / "beats.sh"
        script.write_text(beats.SCRIPT.replace(
            "\n", "\nHPC_RESTART_COUNT=${SLURM_RESTART_COUNT:-0} RANK=$SLURM_PROCID\n", 1))
        script.chmod(0o755)
        out = slurm.client("sbatch", "--parsable", "--requeue", "-N", nodes, "-o", "/dev/null",
                           "--wrap", f"srun {script} {self.dir}").wait().out
        self.job = out.strip()
        self.wait_began(0)

    def __exit__(self, *_):
        self.slurm.client("scancel", self.job).wait()
        self.slurm.settle()

    def nodes(self):
        listed = self.slurm._ask("squeue", "-h", "-j", self.job, "-o", "%N")[0]
        return self.slurm._ask("scontrol", "show", "hostnames", listed)

    def wait_began(self, attempt, timeout=40):
        return beats.wait_began(self.dir, attempt, self.count, timeout, f"Slurm's job {self.job}")


class Slurm(contextlib.AbstractContextManager):
    name = "Slurm"

    def __init__(self, nodes=4):
        self.nodes = nodes
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="hpc-bench-slurm-"))
        self.dir.chmod(0o755)
        self.conf = self.dir / "slurm.conf"
        self.cpu = cpu.accounting("slurm")
        self.munged = self.controller = None
        self.workers = []
        self.env = {"PATH": PATH, "SLURM_CONF": str(self.conf), "LANG": "C.UTF-8"}
        try:
            with self.cpu:
                self._start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()

    @staticmethod
    def version():
        # The package is asked for its version: Slurm's clients need a configuration even for that.
        return command.run(["/usr/bin/dpkg-query", "-W", "-f", "${Package} ${Version}", "slurmctld"],
                           {}).out.strip()

    # ---- daemons

    def _start(self):
        self._configure()
        munge = self.dir / "munge"
        self.munged = self._daemon("munged", "--foreground", "--num-threads=10",
                                   f"--key-file={munge}/key", f"--socket={munge}/socket",
                                   f"--pid-file={munge}/pid", f"--seed-file={munge}/seed",
                                   f"--log-file={munge}/log")
        self._eventually((munge / "socket").exists, "munged answers")
        # -c: it starts with no saved state.
        self.controller = self._daemon("slurmctld", "-D", "-c", "-f", self.conf)
        for name in self._names():
            (self.dir / f"spool-{name}").mkdir()
            self.workers.append(self._slurmd(name))
        self._eventually(lambda: self._idle_nodes() == self.nodes, "all nodes are idle", 60)

    def _names(self):
        return [f"pc{i}" for i in range(1, self.nodes + 1)]

    def _configure(self):
        (self.dir / "state").mkdir(mode=0o700)
        (self.dir / "munge").mkdir(mode=0o755)  # every account must reach the socket in it
        key = self.dir / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        host = socket.gethostname().split(".")[0]
        self.port, *ports = free_ports(1 + self.nodes)
        self.conf.write_text(CONF.format(
            dir=self.dir, host=host, controller=self.port,
            nodes="\n".join(NODE.format(name=name, host=host, port=port, slots=SLOTS)
                            for name, port in zip(self._names(), ports))))

    def _slurmd(self, name):
        return self._daemon("slurmd", "-D", "-N", name, "-f", self.conf)

    def _daemon(self, program, *args):
        return Process([find(program), *args], self.dir / f"{program}.out", env=self.env)

    def _eventually(self, condition, what, timeout=20):
        try:
            eventually(condition, f"Slurm: {what}", timeout, interval=0.1)
        except AssertionError as error:
            logs = [*self.dir.glob("*.log"), *self.dir.glob("*.out")]
            raise AssertionError(f"{error}\n" + "".join(
                f"--- {file.name}\n{file.read_text(errors='replace')[-2000:]}\n"
                for file in logs)) from None

    def _ask(self, program, *args):
        """The words of its answer; None: it has none."""
        done = subprocess.run([find(program), *args], env=self.env, capture_output=True, text=True,
                              timeout=60)
        return done.stdout.split() if done.returncode == 0 else None

    def _idle_nodes(self):
        return sum(map(int, self._ask("sinfo", "-h", "-t", "idle", "-o", "%D") or []))

    def close(self):
        # The controller goes first, so that nothing new starts; munged goes last, because all of
        # them ask it.
        for daemon in [self.controller, *self.workers]:
            self._end(daemon)
        self._end_steps()
        self._end(self.munged)
        self.cpu.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    @staticmethod
    def _end(daemon):
        if daemon is not None and daemon.alive():
            with contextlib.suppress(AssertionError):  # it may have been killed before
                daemon.terminate()

    def _end_steps(self):
        """slurmstepd outlives slurmd, with what it has started: by the environment they have of it."""
        mark = f"SLURM_CONF={self.conf}".encode()
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes() and int(entry.name) not in self.pids():
                    os.kill(int(entry.name), signal.SIGKILL)

    # ---- what is started

    def pids(self):
        return [d.pid for d in [self.munged, self.controller, *self.workers] if d is not None]

    @property
    def coordinator_pid(self):
        return self.controller.pid

    @property
    def worker_pid(self):
        return self.workers[0].pid

    def cpu_seconds(self):
        return self.cpu.seconds(self.pids())

    # ---- command lines

    def client(self, program, *words, **options):
        return command.Command([find(program), *words], self.env, **options)

    def gang(self, *words):
        return self.client("srun", "-N", self.nodes, *words)

    def submit(self, *words, held=False):
        return self.client("sbatch", "-Q", "-o", "/dev/null", *(["-H"] if held else []), "--wrap",
                           " ".join(words))

    def submit_all(self, count, *words):
        return self.client("sbatch", "-Q", "-o", "/dev/null", f"--array=1-{count}", "--wrap",
                           " ".join(words))

    def gang_of_beats(self, nodes):
        return _Beats(self, nodes)

    # ---- what dies

    def restart_coordinator(self):
        self.controller.kill()
        with self.cpu:
            self.controller = self._daemon("slurmctld", "-D", "-f", self.conf)
        # Waits here, because a client that finds nobody would wait for seconds.
        eventually(self._listens, "slurmctld listens", 60, interval=0.001)

    def _listens(self):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def kill_node(self, name):
        """As when it loses its power: who could still tell of an end is killed first."""
        self.workers[self._names().index(name)].kill()
        tasks = self._tasks_on(name)
        for parents in (True, False):
            for pid in tasks:
                with contextlib.suppress(OSError):
                    os.kill(_parent_of(pid) if parents else pid, signal.SIGKILL)

    def start_node(self, name):
        with self.cpu:
            self.workers[self._names().index(name)] = self._slurmd(name)
        self._eventually(lambda: self._idle_nodes() == self.nodes, f"{name} is idle again", 120)

    def _tasks_on(self, name):
        """The tasks of job steps there: children of a slurmstepd."""
        marks = {f"SLURM_CONF={self.conf}".encode(), f"SLURMD_NODENAME={name}".encode()}
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if not marks <= set((entry / "environ").read_bytes().split(b"\0")):
                    continue
                parent = pathlib.Path(f"/proc/{_parent_of(entry.name)}/comm").read_text().strip()
                if parent == "slurmstepd":
                    found.append(int(entry.name))
        return found

    # ---- what there is

    def settle(self, interval=0.1):
        """Each look costs Slurm some milliseconds of CPU time."""
        eventually(lambda: self._ask("squeue", "-h", "-o", "%i") == [], "Slurm has nothing to do",
                   600, interval)

    def occupy(self):
        """Takes every slot of every node, until Slurm is stopped."""
        self.submit_all(self.nodes * SLOTS, "sleep", "100000").wait()
        self._eventually(lambda: len(self._ask("squeue", "-h", "-r", "-t", "R", "-o", "%i") or [])
                         == self.nodes * SLOTS, "every slot is taken", 60)
