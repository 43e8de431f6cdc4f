"""A gang of -N 2:4 that trains while everything around it is killed, in rounds with a look at all
promises after each."""

import collections
import os
import random
import subprocess
import time

from .accidents import EVERYTHING, Accidents
from .acknowledged import Acknowledged
from .cluster import BIN, ROOT, Cluster
from .followers import Followers
from .network import Network
from .process import eventually
from .witness import Witness

SCRIPTS = ROOT / "tests/cluster/scripts"
PATIENCE = 60  # seconds until everything must have settled
NOT_REACHED = 120  # exit code of hpcctl


def make_cluster(lease, nodes=4):
    """PCs in namespaces where that is possible here. Restarts wait little."""
    return Cluster(nodes=nodes, cpu_slots=4, network=Network.available() is None, coordinator_args=(
        "--lease", f"{lease}s", "--last-call", "0.3s", "--grow-steady", "1s", "--restart-backoff",
        "1ms", "--loss-retries", "1000000"))


def run_campaign(kills, seed, lease, nodes=4, progress=lambda kills: None, **options):
    """Accidents in rounds until there were `kills`, and the end of everything. Returns the Campaign
    that has been; raises AssertionError with the seed and what the daemons said."""
    with make_cluster(lease, nodes) as cluster:
        done = 0
        try:
            campaign = Campaign(cluster, seed, lease, **options)
            while done < kills:
                campaign.round(kills - done)
                done = campaign.kills.total()
                progress(done)
            campaign.finish()
            return campaign
        except Exception as error:
            raise AssertionError(
                f"seed {seed}, after {done} kills: {error}\n{cluster.logs()}") from error


class Campaign:
    def __init__(self, cluster, seed, lease, script="steps.py", kinds=None):
        """`script`: what the ranks are; `kinds`: the accidents that happen, if not all."""
        self.cluster = cluster
        self.nodes = len(cluster.names)
        self.rng = random.Random(seed)
        token = f"KILLS_TOKEN={seed}.{os.getpid()}"
        self.accidents = Accidents(cluster, lease, token, self.rng)
        self.kinds = {name: kind for name, kind in self.accidents.kinds().items()
                      if kinds is None or name in kinds}
        self.witness = Witness(cluster.dir / "witness")
        self.common = ["--max-restarts", 1000000, "--stop-grace", "1s", "--env", token]
        self.gang = cluster.submit(
            "-N", f"2:{self.nodes}", "--grow", "checkpoint", "--name", "gang", *self.common, "--",
            "python3", SCRIPTS / script, self.witness.folder, 0.1)
        self.acknowledged = Acknowledged(cluster, self.gang, self.witness)
        self.acknowledged.runs["gang"] = self.gang
        self.followers = Followers(cluster, self.gang)
        self.small = cluster.script("small.sh", "#!/bin/sh\n"
            'echo "$HPC_RUN_ID $HPC_ATTEMPT $RANK $WORLD_SIZE $HPC_NODE $$" '
            f">> {self.witness.folder}/starts\nexec sleep ${{1:-0}}\n")
        self.kills = collections.Counter()
        self.ran_on = collections.Counter()  # kills that the gang did not notice
        self.again = collections.defaultdict(list)  # other kills: seconds until the gang ran again
        self._clients = []  # (what it asked for, process)
        self._serial = 0
        self.attempts_in_all = 0  # once it has finished
        self.settle()

    # ---- a round

    def round(self, most):
        """Up to `most` accidents at a time, each to something else. Raises AssertionError with all
        that is wrong when it is over."""
        chosen = self._choose(self.rng.choice([1, 1, 2, 3]) if most > 1 else 1, most)
        attempt = self.attempts()
        paid, killed = self._paid(), self.accidents.ranks_killed
        begin = self._act(chosen)
        self.settle()
        self.accidents.over()
        if len(chosen) == 1:
            self._time(chosen[0][0], attempt, begin)
        self._collect_clients()
        wrong = (self.acknowledged.check() + self._orphans() +
                 self._unfair(paid, self.accidents.ranks_killed - killed))
        if wrong:
            raise AssertionError(f"after {' and '.join(f'{k} ({s})' for k, s in chosen)}:\n" +
                                 "\n".join(wrong))

    def _choose(self, wanted, most):
        """[(kind, subject)], no subject twice; the first kinds are those that had no turn yet."""
        chosen, taken = [], set()
        while len(chosen) < min(wanted, most) and EVERYTHING not in taken:
            possible = {kind: often for kind, (often, subject, _) in self.kinds.items()
                        if subject not in taken and not (subject == EVERYTHING and taken)}
            fresh = [kind for kind in possible if not self.kills[kind]]
            kind = self.rng.choice(fresh) if fresh else self.rng.choices(
                list(possible), list(possible.values()))[0]
            subject = self.kinds[kind][1]
            if subject == "pc":
                subject = self.rng.choice([p for p in self.cluster.names if p not in taken])
            taken.add(subject)
            chosen.append((kind, subject))
            self.kills[kind] += 1
        return chosen

    def _act(self, chosen):
        """Runs the accidents side by side; each begins a moment after the one before. Returns when
        the first began."""
        now = time.monotonic()
        begin = None
        due = []
        for kind, subject in chosen:
            due.append([now, self.kinds[kind][2](subject), True])
            now += self.rng.uniform(0, 1)
        while due:
            entry = min(due, key=lambda e: e[0])
            time.sleep(max(0, entry[0] - time.monotonic()))
            if entry[2]:
                self._ask_something()
                entry[2] = False
                begin = begin or time.monotonic()
            pause = next(entry[1], None)
            if pause is None:
                due.remove(entry)
            else:
                entry[0] = time.monotonic() + pause
        return begin

    def settle(self):
        """Returns once all PCs are there and every rank of the gang makes steps."""
        begin = time.monotonic()
        eventually(lambda: self.cluster.json("status")["nodes_connected"] == self.nodes,
                   "all PCs are connected", PATIENCE, 0.05)
        eventually(lambda: self._all_step_since(begin), "every rank of the gang makes steps",
                   PATIENCE, 0.05)

    def _all_step_since(self, moment):
        attempt = self._newest()
        if attempt["state"] != "running":
            return False
        ranks = self.witness.gang(self.gang, attempt["number"])
        return ranks and all(self.witness.ran_after(rank, moment) for rank in ranks)

    def attempts(self):
        """How many the gang has had."""
        return self._newest()["number"]

    def _newest(self):
        return self.cluster.sql("SELECT number, state FROM attempts WHERE run = ?"
                                " ORDER BY number DESC LIMIT 1", self.gang)[0]

    def _time(self, kind, attempt, begin):
        """How long the gang stood still for a kill, if it did."""
        row, = self.cluster.sql("SELECT outcome FROM attempts WHERE run = ? AND number = ?",
                                self.gang, attempt)
        if row["outcome"] in (None, "grown"):
            self.ran_on[kind] += 1
            return
        later = range(attempt + 1, self.attempts() + 1)
        first = next(ranks for a in later if (ranks := self.witness.gang(self.gang, a)))
        self.again[kind].append(self.witness.began(first) - begin)

    # ---- people who want something meanwhile

    def _ask_something(self):
        self._serial += 1
        name = f"small-{self._serial}"
        cancels = self.rng.random() < 0.3
        self._ask(("submit", name, cancels), "run", "--detach", "--json", "--name", name,
                  *self.common, "--", self.small, 1000 if cancels else 0)

    def _ask(self, what, *args):
        self._clients.append((what, subprocess.Popen(
            [BIN / "hpcctl", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=self.cluster.env, cwd=self.cluster.dir)))

    def _collect_clients(self):
        """All of them get their answer, unless they found no coordinator to begin with."""
        clients, self._clients = self._clients, []
        for (what, subject, cancels), client in clients:
            out = client.communicate(timeout=PATIENCE)[0]
            if client.returncode == NOT_REACHED:
                if what == "cancel":
                    self._ask((what, subject, False), what, subject)
                continue
            if client.returncode != 0:
                raise AssertionError(f"hpcctl {what} {subject} ended with {client.returncode}: {out}")
            if what == "cancel":
                self.acknowledged.cancelled.add(subject)
                continue
            number = int(out.split('"id":')[1].split("}")[0])
            self.acknowledged.runs[subject] = number
            if cancels:  # they are answered during the next round
                self._ask(("cancel", number, False), "cancel", number)

    # ---- what may not be

    def _paid(self):
        """How many restarts the gang has paid so far."""
        row, = self.cluster.sql("SELECT failures FROM runs WHERE id = ?", self.gang)
        return row["failures"]

    def _unfair(self, paid, killed):
        """A rank that was killed is its program's failure, for all that anybody can know; nothing
        else that happens here is."""
        more = self._paid() - paid
        if more <= killed:
            return []
        said = self.cluster.sql("SELECT number, outcome, reason FROM attempts WHERE run = ?"
                                " ORDER BY number DESC LIMIT ?", self.gang, more + 2)
        return [f"the gang paid {more} restarts, and {killed} of its ranks were killed: "
                f"{[dict(row) for row in said]}"]

    def _orphans(self):
        ended = {(row["run"], row["number"]) for row in self.cluster.sql(
            "SELECT run, number FROM attempts WHERE state = 'ended'")}
        found = []
        for pid, env in self.accidents.rank_environments():
            ref = (int(env[b"HPC_RUN_ID"]), int(env[b"HPC_ATTEMPT"]))
            if ref in ended:
                found.append(f"process {pid} of attempt {ref[0]}.{ref[1]} on "
                             f"{env[b'HPC_NODE'].decode()} outlives it")
        return found

    def _kept(self):
        return [path for pc in self.cluster.names
                for path in (self.cluster.dir / pc / "attempts").glob("*")]

    def finish(self):
        """The gang may end: everything does, and nothing is left."""
        self._collect_clients()
        self._collect_clients()  # those that they cancelled
        (self.witness.folder / "done").touch()
        self.cluster.wait_state(self.gang, "succeeded", timeout=PATIENCE)
        expected = {number: "cancelled" if number in self.acknowledged.cancelled else "succeeded"
                    for number in self.acknowledged.runs.values()}

        def unfinished():
            states = {row["id"]: row["state"] for row in self.cluster.sql(
                "SELECT id, state FROM runs")}
            return {n: (states.get(n), e) for n, e in expected.items() if states.get(n) != e}
        try:
            eventually(lambda: not unfinished(), "every run has ended as it should", PATIENCE, 0.2)
        except AssertionError:
            raise AssertionError("\n".join(
                f"run {run} is {state}, not {wanted}: {self.cluster.hpcctl('why', run).stdout}"
                for run, (state, wanted) in unfinished().items())) from None
        eventually(lambda: not self.accidents.rank_environments(), "no process is left", 10)
        eventually(lambda: not any(self.accidents.supervisors(pc) for pc in self.cluster.names),
                   "no supervisor is left", 10)
        # A PC that was away until now keeps an attempt until the coordinator has all of its output.
        eventually(lambda: not self._kept(), "every PC has handed over what it had", PATIENCE)
        wrong = (self.acknowledged.check_all(self.accidents.pipes_lost) + self.followers.check(PATIENCE) +
                 self.witness.contradictions(self.gang))
        for node in self.cluster.json("nodes"):
            if node["attempts"] or len(node["free_devices"]) != len(node["devices"]):
                wrong.append(f"{node['name']} holds {node['attempts']}")
        held = self.cluster.sql("SELECT run, attempt, node FROM placements WHERE returned = 0")
        wrong += [f"the database says that {row} is not returned" for row in held]
        self.attempts_in_all = self.attempts()
        if wrong:
            raise AssertionError("at the end:\n" + "\n".join(wrong[:50]))
        self.cluster.hpcctl("run", "-N", self.nodes, "--", "true")
