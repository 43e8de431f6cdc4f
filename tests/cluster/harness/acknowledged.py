"""What a cluster has acknowledged, and whether all of it is still there."""

import re

LINE = re.compile(r"attempt (\d+) rank (\d+) step (\d+)")


class Acknowledged:
    """Each check returns what is wrong, in words; nothing if all is well."""

    def __init__(self, cluster, gang, witness):
        self.cluster = cluster
        self.gang = gang
        self.witness = witness
        self.runs = {}  # by name: the run's number
        self.cancelled = set()
        self.last_event = 0
        self.metric_rows = 0
        self.metric_sum = 0
        self.metric_steps = {}  # (attempt, rank): the first and last step stored
        self.log_steps = {}  # the same for its output
        self.logs_until = 0  # attempts up to this one had ended when their output was read

    def counts(self):
        return {"submissions": len(self.runs), "cancels": len(self.cancelled),
                "events": self.last_event, "metric points": self.metric_rows,
                "lines of output": sum(last - first + 1
                                       for first, last in self.log_steps.values())}

    def check(self):
        return self._check_runs() + self._check_events() + self._check_metrics() + self._check_logs()

    def check_all(self, pipes_lost):
        """At the end: the output of every attempt once more, and all of it. `pipes_lost`: (run,
        attempt, node) of which the end of the output may be missing."""
        before = dict(self.log_steps)
        self.logs_until = 0
        wrong = self.check()
        for stream, (first, last) in before.items():
            now = self.log_steps.get(stream)
            if now is None or now[0] != first or now[1] < last:
                wrong.append(f"of the output of attempt and rank {stream} the steps {first} to "
                             f"{last} were there, now {now}")
        return wrong + self._check_witness(pipes_lost)

    def _check_runs(self):
        rows = self.cluster.sql("SELECT id, name, state, cancel_requested FROM runs")
        by_name = {}
        for row in rows:
            by_name.setdefault(row["name"], []).append(row)
        wrong = []
        for name, number in self.runs.items():
            ids = [row["id"] for row in by_name.get(name, [])]
            if ids != [number]:
                wrong.append(f"{name} was acknowledged as run {number}, and is {ids}")
        for row in rows:
            if row["id"] in self.cancelled and not row["cancel_requested"]:
                wrong.append(f"the cancel of run {row['id']} was acknowledged and is lost: it is "
                             f"{row['state']}")
        return wrong

    def _check_events(self):
        row, = self.cluster.sql("SELECT count(*) AS n, max(id) AS last FROM events")
        wrong = []
        if row["n"] != row["last"]:
            wrong.append(f"{row['n']} events are numbered 1 to {row['last']}")
        if row["last"] < self.last_event:
            wrong.append(f"event {self.last_event} was there; the last is now {row['last']}")
        self.last_event = row["last"]
        return wrong

    def _check_metrics(self):
        """Each point once, in order, none of those that were there lost."""
        old, = self.cluster.sql(
            "SELECT count(*) AS n, coalesce(sum(step), 0) AS total FROM metrics"
            " WHERE run = ? AND row <= ?", self.gang, self.metric_rows)
        wrong = []
        if (old["n"], old["total"]) != (self.metric_rows, self.metric_sum):
            wrong.append(f"{self.metric_rows} metric points were stored, {old['n']} are left")
        for row in self.cluster.sql(
                "SELECT m.row, m.attempt, m.rank, m.step, k.key FROM metrics AS m"
                " JOIN metric_keys AS k ON k.id = m.key WHERE m.run = ? AND m.row > ?"
                " ORDER BY m.row", self.gang, self.metric_rows):
            self.metric_rows += 1
            self.metric_sum += row["step"]
            if row["row"] != self.metric_rows:
                wrong.append(f"metric point {self.metric_rows} is numbered {row['row']}")
                self.metric_rows = row["row"]
            if row["key"] == "progress":
                wrong += self._next(self.metric_steps, "metric", row["attempt"], row["rank"],
                                    row["step"])
        return wrong

    def _check_logs(self):
        """The output of attempts that are new, or were not over when it was read last."""
        states = {row["number"]: row["state"] for row in self.cluster.sql(
            "SELECT number, state FROM attempts WHERE run = ? AND number > ? ORDER BY number",
            self.gang, self.logs_until)}
        wrong = []
        for attempt, state in states.items():
            for stream in [s for s in self.log_steps if s[0] == attempt]:
                del self.log_steps[stream]
            out = self.cluster.hpcctl("logs", self.gang, "--attempt", attempt, "--no-label").stdout
            for line in out.splitlines():
                parts = LINE.fullmatch(line)
                if parts is None:
                    wrong.append(f"attempt {attempt} is said to have printed: {line!r}")
                else:
                    wrong += self._next(self.log_steps, "line", *map(int, parts.groups()))
            # Output of the two newest attempts may still arrive.
            if state == "ended" and attempt <= max(states) - 2 and attempt == self.logs_until + 1:
                self.logs_until = attempt
        return wrong

    @staticmethod
    def _next(steps, what, attempt, rank, step):
        first, last = steps.get((attempt, rank), (step, step - 1))
        steps[attempt, rank] = (first, step)
        if step == last + 1:
            return []
        return [f"the {what} of step {step} of rank {rank} of attempt {attempt} follows that of "
                f"step {last}"]

    def _check_witness(self, pipes_lost):
        """What the ranks did is what is stored, also of attempts that were given up."""
        wrong = []
        for start in self.witness.starts():
            steps = [step for step, _ in self.witness.steps(start)]
            if start.run != self.gang or not steps:
                continue
            sources = {"metrics": self.metric_steps, "output": self.log_steps}
            if (start.run, start.attempt, start.node) in pipes_lost:
                del sources["output"]
            for what, stored in sources.items():
                first, last = stored.get((start.attempt, start.rank), (0, -1))
                if first != steps[0] or last < steps[-1]:
                    wrong.append(f"rank {start.rank} of attempt {start.attempt} on {start.node} made "
                                 f"the steps {steps[0]} to {steps[-1]}; {what} of {first} to {last} "
                                 "are stored")
        return wrong
