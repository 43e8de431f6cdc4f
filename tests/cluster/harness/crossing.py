"""A line of faults and actions that cross each other, done to a gang of three on real daemons.

    unplug pc2, 4.6, plug pc2
    hangs: crash rank pc2, 0.3, kill coordinator, 8, start coordinator => costs 1

A line is a list of steps: one of STEPS with the PC that it happens to, or a pause in seconds. Before
the colon stand habits of the ranks (scripts/steps.py) and of the run: `fixed`, it can be no smaller
than three; `alone`, it is one rank on pc2; `patient`, ranks have 12 s to end instead of 3. `down r-s_w
pc2` sends SIGTERM to the ranks of pc2, its supervisors and its worker in this order, with 50 ms (-) or
0.4 s (_) between them, as when a PC is turned off; `boot pc2` turns it on again. Then everything is mended, and the run has to train again, to end well, and to have paid
at most as many restarts as ranks were killed. After the arrow stands what else must be so:

    costs N        it paid exactly N restarts
    free           it paid no retry for lost infrastructure either
    unbroken       its first attempt was never ended
    pc2 stays on   the PC was not put to sleep
    pc2 sleeps on  the PC was not woken before all was mended
"""

import os
import pathlib
import random
import re
import signal
import sqlite3
import threading
import time

from .accidents import Accidents
from .cluster import ROOT
from .household import Household
from .process import eventually
from .witness import Witness

LEASE = 6  # seconds, the coordinator's default
OVER = {"succeeded", "failed", "cancelled", "timed-out"}
EXIT_CODES = {"succeeded": 0, "cancelled": 122}
CRASH = signal.SIGSEGV  # which nobody but the program can be to blame for


class Line:
    """What stands in a line; raises ValueError where it cannot be read."""

    def __init__(self, text):
        self.text = text.strip()
        rest, _, wanted = self.text.partition("=>")
        habits, colon, steps = rest.rpartition(":")
        self.habits = habits.split() if colon else []
        self.steps = [self._step(step.strip()) for step in steps.split(",")]
        self.wanted = [word.strip() for word in wanted.split(",") if word.strip()]

    @staticmethod
    def _step(text):
        """(name, PC or None) or (seconds, None)."""
        if re.fullmatch(r"[\d.]+", text):
            return float(text), None
        if down := re.fullmatch(r"down ([rsw_-]+) (\S+)", text):
            return "down", down.groups()
        name, _, last = text.rpartition(" ")
        for step in ((text, None), (name, last)):
            if step[0] in STEPS:
                return step
        raise ValueError(f"'{text}' is no step; steps are {', '.join(STEPS)}")

    def count(self, *names):
        return sum(name in names for name, _ in self.steps)


class Crossing:
    """A gang to which a line happens."""

    def __init__(self, text):
        self.line = Line(text)
        self.notes = []  # what was done and answered
        self._began = time.monotonic()
        self._locks = []
        self._strangers = {}  # other runs by name: (number, client)
        self.cluster = Household(3, ["--last-call", "0.3s", "--grow-steady", "1s"])
        token = f"CROSSING_TOKEN={os.getpid()}"
        self.accidents = Accidents(self.cluster, LEASE, token, random.Random(1))
        self.witness = Witness(self.cluster.dir / "witness")
        self.run, self.client = self._start(
            "gang", *self._size(), "--stop-grace", "12s" if self._is("patient") else "3s",
            "--env", token, "--max-restarts", self.restarts(),
            *(("--retry-exit", "75") if self._is("asks75") else ()), "--",
            "python3", ROOT / "tests/cluster/scripts/steps.py", self.witness.folder, 0.05,
            *(habit for habit in self.line.habits if habit not in ("fixed", "alone", "patient")))

    def _is(self, *habits):
        return bool(set(habits) & set(self.line.habits))

    def _size(self):
        if self._is("alone"):
            return "-N", "1", "--nodelist", "pc2"
        return "-N", "3" if self._is("fixed", "third-ends") else "2:3"

    def restarts(self):
        """The most that the run may pay."""
        return self.line.count("kill rank", "crash rank", "fail rank")

    def _start(self, name, *args):
        client = self.cluster.start("run", "--name", name, *args, name=name)
        found = eventually(lambda: re.search(r"run (\d+)", client.output()), f"{name} has a number")
        return int(found[1]), client

    def note(self, *words):
        self.notes.append(f"{time.monotonic() - self._began:7.2f} {' '.join(map(str, words))}")

    # ---- from beginning to end

    def judge(self):
        """Does what the line says, and returns all that is wrong."""
        eventually(lambda: self._trains(3), "the gang trains", 40)
        for name, subject in self.line.steps:
            if isinstance(name, float):
                self._pause(name)
            else:
                self.note(name, subject or "")
                STEPS[name](self, subject)
        called = {pc for pc in self.cluster.names if self.cluster.was_called(pc)}
        self._pause(0.3)
        for lock in self._locks:
            lock.join()
        self.cluster.heal()
        self.note("all is mended")
        wrong = self._end() + self._wanted(called) + self._leftovers()
        return wrong

    def _pause(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not any(word.endswith("sleeps on") for word in self.line.wanted):
                self.cluster.wake_called()
            time.sleep(min(0.1, left))

    def _trains(self, steps=1, since=0.0):
        """Whether every rank of the newest attempt has made so many steps, the last after `since`."""
        row = self.cluster.sql("SELECT number, state FROM attempts WHERE run = ?"
                               " ORDER BY number DESC LIMIT 1", self.run)
        if not row or row[0]["state"] != "running":
            return False
        ranks = self.witness.gang(self.run, row[0]["number"])
        if "third-ends" in self.line.habits:
            ranks = ranks and [rank for rank in ranks if rank.rank != 2]
        return ranks and all(len(self.witness.steps(rank)) >= steps and
                             self.witness.ran_after(rank, since) for rank in ranks)

    def _end(self):
        """Lets the run end, and looks at how it did."""
        wanted, early = "cancelled" if self.line.count("cancel") else "succeeded", False
        if wanted == "succeeded":
            now = time.monotonic()
            eventually(lambda: self._state() in OVER or self._trains(1, now) or
                       self.cluster.wake_called(), "the gang trains again", 60, 0.1)
            early = self._state() == "succeeded"
            (self.witness.folder / "done").touch()
        wrong = self._ended("gang", self.run, self.client, wanted)
        if early:
            wrong.append("it has succeeded, and its work was not done")
        paid = self._row()["failures"]
        if paid > self.restarts():
            wrong.append(f"it paid {paid} restarts, and {self.restarts()} of its ranks were killed")
        for name, (run, client) in self._strangers.items():
            wrong += self._ended(name, run, client, "succeeded")
        return wrong

    def _ended(self, name, run, client, wanted):
        def over():
            self.cluster.wake_called()
            return self.cluster.run_state(run) in OVER
        eventually(over, f"{name} has ended", 60, 0.1)
        state, code = self.cluster.run_state(run), client.wait(15)
        wrong = []
        if state != wanted:
            wrong.append(f"{name} is {state}, not {wanted}: {self._row(run)['reason']}")
        elif code != EXIT_CODES[wanted]:
            wrong.append(f"the client of {name} exited with {code}, not {EXIT_CODES[wanted]}")
        return wrong

    def _state(self):
        return self.cluster.run_state(self.run)

    def _row(self, run=None):
        return self.cluster.sql("SELECT * FROM runs WHERE id = ?", run or self.run)[0]

    def attempts(self):
        """(number, outcome, reason, causes) of each."""
        return [tuple(row.values()) for row in self.cluster.sql(
            "SELECT number, outcome, reason, causes FROM attempts WHERE run = ? ORDER BY number", self.run)]

    def _wanted(self, called):
        wrong = []
        for word in self.line.wanted:
            first, last = word.split()[0], word.split()[-1]
            holds = {"costs": lambda: self._row()["failures"] == int(last),
                     "free": lambda: self._row()["losses"] == 0,
                     "unbroken": lambda: len(self.attempts()) == 1}.get(first)
            if word.endswith("stays on"):
                holds = lambda: not self.cluster.slept(first)
            elif word.endswith("sleeps on"):
                holds = lambda: first not in called
            if not holds():
                wrong.append(f"not '{word}': {self.attempts()}")
        return wrong

    def _leftovers(self):
        wrong = []
        try:
            eventually(lambda: not self.accidents.rank_environments(), "no process is left", 15)
            eventually(lambda: not self._held(), "no device is held", 15, 0.2)
        except AssertionError as error:
            wrong.append(f"{error}: {self.accidents.rank_environments()} {self._held()}")
        ids = [row["id"] for row in self.cluster.sql("SELECT id FROM events ORDER BY id")]
        if ids != list(range(1, len(ids) + 1)):
            wrong.append("events are missing")
        return wrong + self.witness.contradictions(self.run)

    def _held(self):
        held = [node["name"] for node in self.cluster.json("nodes")
                if node["attempts"] or len(node["free_devices"]) != len(node["devices"])]
        return held + self.cluster.sql("SELECT run, attempt, node FROM placements WHERE returned = 0")

    def story(self):
        """What happened, for somebody who wants to know why it was wrong."""
        events = [" ".join(str(event.get(key)) for key in (
            "id", "time", "kind", "run", "attempt", "node", "rank", "text"))
            for event in self.cluster.events()]
        whys = [self.cluster.hpcctl("why", what, check=False).stdout
                for what in [self.run, *self.cluster.names]]
        return "\n".join([*self.notes, *map(str, self.attempts()), *events, *whys,
                          self.cluster.logs()])

    def close(self):
        self.cluster.close()

    # ---- steps

    def _on_pc(self, command, pc, *args):
        done = self.cluster.on_pc(command, pc, *args)
        self.note(" ", done.returncode, done.stdout.strip(), done.stderr.strip())

    def _ask(self, *args):
        done = self.cluster.hpcctl(*args, check=False)
        self.note(" ", done.returncode, done.stdout.strip(), done.stderr.strip())

    def _process(self, pc):
        return self.cluster.coordinator if pc is None else self.cluster.workers[pc]

    def _signal_ranks(self, pc, number):
        for pid in self.accidents.ranks(pc):
            os.kill(pid, number)

    def _kill_supervisor(self, pc):
        for pid in self.accidents.supervisors(pc):
            os.kill(pid, signal.SIGKILL)

    def _go_down(self, how):
        order, pc = how
        told = {"r": self.accidents.ranks(pc), "s": self.accidents.supervisors(pc),
                "w": [self.cluster.workers[pc].pid]}
        for step in order:
            if step in told:
                for pid in told[step]:
                    _tell(pid, signal.SIGTERM)
            else:
                time.sleep({"-": 0.05, "_": 0.4}[step])

    def _start_worker(self, pc):
        self.cluster.workers[pc].wait(10)
        self.cluster.start_worker(pc, ready=False)

    def _boot(self, pc):
        self.cluster.workers[pc].kill()
        for pid in [*self.accidents.supervisors(pc), *self.accidents.ranks(pc)]:
            _tell(pid, signal.SIGKILL)
        self.cluster.start_worker(pc, new_boot=True, ready=False)

    def _lock_database(self, seconds):
        """Another program holds the database for so long; something is there to be written."""
        locked = threading.Event()

        def hold():
            file = pathlib.Path(self.cluster.dir / "coordinator/hpc.db")
            with sqlite3.connect(file, timeout=5, isolation_level=None) as database:
                database.execute("BEGIN IMMEDIATE")
                locked.set()
                time.sleep(float(seconds))
                database.execute("ROLLBACK")
        self._locks.append(threading.Thread(target=hold))
        self._locks[-1].start()
        locked.wait()
        self._locks.append(threading.Thread(target=lambda: self._ask(
            "run", "--detach", "--nodelist", "pc1", "--name", "small", "--", "true")))
        self._locks[-1].start()

    def _other_run(self, name, *args):
        self._strangers[name] = self._start(name, *args)


def _tell(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has ended meanwhile


STEPS = {
    "down": Crossing._go_down,
    "boot": Crossing._boot,
    "restart coordinator": lambda c, _: c.cluster.restart_coordinator(),
    "kill coordinator": lambda c, _: c.cluster.coordinator.kill(),
    "start coordinator": lambda c, _: c.cluster.start_coordinator(),
    "freeze coordinator": lambda c, _: c.cluster.coordinator.signal(signal.SIGSTOP),
    "thaw coordinator": lambda c, _: c.cluster.coordinator.signal(signal.SIGCONT),
    "lock database": Crossing._lock_database,  # for so many seconds
    "kill worker": lambda c, pc: c.cluster.workers[pc].kill(),
    "start worker": Crossing._start_worker,
    "freeze worker": lambda c, pc: c.cluster.workers[pc].signal(signal.SIGSTOP),
    "thaw worker": lambda c, pc: c.cluster.workers[pc].signal(signal.SIGCONT),
    "kill supervisor": Crossing._kill_supervisor,
    "kill rank": lambda c, pc: c._signal_ranks(pc, signal.SIGKILL),
    "fail rank": lambda c, pc: c._signal_ranks(pc, signal.SIGUSR1),
    "caught at": lambda c, pc: c._signal_ranks(pc, signal.SIGUSR2),
    "crash rank": lambda c, pc: c._signal_ranks(pc, CRASH),
    "unplug": lambda c, pc: c.cluster.network.cable(pc, False),
    "plug": lambda c, pc: c.cluster.network.cable(pc, True),
    "part pc1 from": lambda c, pc: c.cluster.network.part("pc1", pc),
    "join pc1 to": lambda c, pc: c.cluster.network.part("pc1", pc, apart=False),
    "reclaim": lambda c, pc: c._ask("reclaim", pc),
    "reclaim at": lambda c, pc: c._on_pc("reclaim", pc),
    "reclaim for 2s at": lambda c, pc: c._on_pc("reclaim", pc, "--for", "2s"),
    "lend": lambda c, pc: c._ask("lend", pc),
    "lend at": lambda c, pc: c._on_pc("lend", pc),
    "sleep": lambda c, pc: c._ask("sleep", pc),
    "cancel": lambda c, _: c._ask("cancel", c.run),
    "important run": lambda c, _: c._other_run("important", "--priority", 10, "--", "sleep", 2),
    "run after it": lambda c, _: c._other_run("after", "--after", c.run, "--", "true"),
}
