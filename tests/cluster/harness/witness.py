"""What ranks wrote down themselves (scripts/steps.py), to hold against what the cluster says."""

import collections
import pathlib

Start = collections.namedtuple("Start", "run attempt rank world node pid")


class Witness:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.folder.chmod(0o777)
        (self.folder / "starts").touch()
        (self.folder / "starts").chmod(0o666)
        self._starts = []
        self._read = 0

    def starts(self):
        """Every start of a rank, in the order of their happening."""
        with open(self.folder / "starts") as file:
            file.seek(self._read)
            for line in file.read().splitlines():
                run, attempt, rank, world, node, pid = line.split()
                self._starts.append(
                    Start(int(run), int(attempt), int(rank), int(world), node, int(pid)))
            self._read = file.tell()
        return self._starts

    def gang(self, run, attempt):
        """The starts of an attempt's ranks, if all of them have begun to count."""
        ranks = [s for s in self.starts() if (s.run, s.attempt) == (run, attempt)]
        return ranks if ranks and len(ranks) == ranks[0].world and all(
            self._lines(s) for s in ranks) else []

    def began(self, ranks):
        """When the last of them executed its first line."""
        return max(float(self._lines(s)[0].split()[1]) for s in ranks)

    def steps(self, start):
        """(step, monotonic time) of each that the rank made."""
        pairs = [line.split() for line in self._lines(start)[1:]]
        return [(int(step), float(at)) for step, at in pairs]

    def ran_after(self, start, moment):
        """Whether the rank made a step after that moment."""
        steps = self.steps(start)
        return bool(steps) and steps[-1][1] > moment

    def _lines(self, start):
        path = self.folder / f"{start.run}.{start.attempt}.{start.rank}"
        try:
            text = path.read_text()
        except FileNotFoundError:
            return []
        return text[:text.rfind("\n") + 1].splitlines()  # whole lines only

    def contradictions(self, run):
        """What can never be: a rank that was started twice, or two attempts of a run at a time."""
        starts = self.starts()
        counts = collections.Counter((s.run, s.attempt, s.rank) for s in starts)
        found = [f"rank {rank} of attempt {run}.{attempt} was started {times} times"
                 for (run, attempt, rank), times in counts.items() if times > 1]
        spans = {}
        for start in starts:
            lines = self._lines(start) if start.run == run else []
            if not lines:
                continue
            begin, end = (float(line.split()[1]) for line in (lines[0], lines[-1]))
            first, last = spans.get(start.attempt, (begin, end))
            spans[start.attempt] = (min(first, begin), max(last, end))
        latest = 0
        for attempt, (first, last) in sorted(spans.items()):
            if first < latest:
                found.append(f"attempt {run}.{attempt} began {latest - first:.3f} s before the last "
                             "step of an earlier one")
            latest = max(latest, last)
        return found
