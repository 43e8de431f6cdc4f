"""One figure: samples of each system, what was asked for, and whether it is reached."""

import dataclasses
import random
import statistics

OURS = "hpcctl"


@dataclasses.dataclass
class Goal:
    """Of our median by `peer`'s, or of our median itself where there is no peer."""

    limit: float
    at_most: bool = True
    peer: str = ""

    def __str__(self):
        least = "at most" if self.at_most else "at least"
        return f"{least} {self.limit:g}" + (f" x {self.peer}" if self.peer else "")


@dataclasses.dataclass
class Figure:
    name: str  # as defined in docs/METRICS.md
    unit: str
    samples: dict  # keyed by the system's name, in the order in which they were taken
    goals: list = dataclasses.field(default_factory=list)
    note: str = ""

    def median(self, system):
        return statistics.median(self.samples[system])

    def spread(self, system):
        """Where the middle half of the samples lies, and all of them."""
        values = sorted(self.samples[system])
        if len(values) < 2:
            return (values[0],) * 4
        quarters = statistics.quantiles(values, n=4, method="inclusive")
        return values[0], quarters[0], quarters[2], values[-1]

    def ratio(self, peer):
        """Median of the ratios of neighbours, which the same mood of the machine has seen. None: the
        peer's is nothing, as of a daemon that has slept all the time."""
        if 0 in self.samples[peer]:
            return None
        return statistics.median(ours / theirs for ours, theirs in
                                 zip(self.samples[OURS], self.samples[peer]))

    def reached(self, goal):
        value = self.ratio(goal.peer) if goal.peer else self.median(OURS)
        return value <= goal.limit if goal.at_most else value >= goal.limit

    def as_dict(self):
        systems = {}
        for system, values in self.samples.items():
            low, first, third, high = self.spread(system)
            systems[system] = {"median": self.median(system), "min": low, "quarter": first,
                               "three_quarters": third, "max": high, "samples": values}
            if system != OURS:
                systems[system]["ratio"] = self.ratio(system)
        return {"name": self.name, "unit": self.unit, "systems": systems, "note": self.note,
                "goals": [{"goal": str(goal), "reached": self.reached(goal)}
                          for goal in self.goals]}


def alternate(times, ways, warm=1):
    """Takes a sample of each way in turn, `times` times, after `warm` turns that do not count.

    The order of a turn is drawn: what one way leaves to be done behind it is not always the same
    other's to bear. A way is a function; what it returns is a number, or numbers by name. A list of
    them by way."""
    samples = {name: [] for name in ways}
    order = list(ways.items())
    draw = random.Random(0)
    for turn in range(times + warm):
        draw.shuffle(order)
        for name, way in order:
            sample = way()
            if turn >= warm:
                samples[name].append(sample)
    return samples


def column(samples, key):
    """Of samples that are numbers by name, those of one name."""
    return {system: [sample[key] for sample in values] for system, values in samples.items()}
