"""Metrics of many ranks at once: how many points a second come to rest in the coordinator's database."""

import json
import time

from harness.process import eventually
from measure.arrivals import Arrivals
from measure.figure import Figure, Goal, alternate
from systems.hpcctl import Hpcctl

RANKS = 16
APPEND = """
echo >{arrivals}
cat {points} >>"$HPC_METRICS_FILE"
"""


def lines(steps):
    """Four points for each step."""
    return "".join(json.dumps({"step": step, "loss": 1 / (step + 1), "accuracy": step / steps,
                               "lr": 0.1, "examples_per_s": 12345.6}) + "\n"
                   for step in range(steps))


def stored(cluster, run):
    return cluster.sql("SELECT coalesce(sum(points), 0) AS points FROM metric_keys WHERE run = ?",
                       run)[0]["points"]


def measure(scale):
    steps = scale.of(10000, 100)
    with Hpcctl() as ours, Arrivals() as arrivals:
        points = ours.cluster.script("points.jsonl", lines(steps))
        script = APPEND.format(arrivals=arrivals.path, points=points)
        count = RANKS * steps * 4

        def rate():
            client = ours.client("run", "--detach", "-N", ours.nodes, "--ranks-per-node",
                                 RANKS // ours.nodes, "--", "sh", "-c", script)
            begin = arrivals.wait(1)
            run = int(client.wait().out)
            arrivals.wait(RANKS - 1)
            eventually(lambda: stored(ours.cluster, run) == count, f"{count} points are stored", 600)
            took = time.monotonic() - begin
            ours.settle(0.2)
            return count / took

        samples = alternate(scale.of(7, 1), {"hpcctl": rate})
    return [Figure("metrics of 16 ranks", "points/s", samples, [Goal(50000, at_most=False)])]
