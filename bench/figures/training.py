"""From the command to the first gradients that are the same on all ranks."""

import pathlib

from measure.arrivals import Arrivals
from measure.figure import Figure, Goal, alternate
from systems.hpcctl import Hpcctl
from systems.torchrun import Torchrun

RANKS = 4
SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "scripts" / "first_all_reduce.py"


def measure(scale):
    torchrun = Torchrun()
    with Hpcctl(nodes=RANKS) as ours, Arrivals() as arrivals:
        def first_all_reduce(client):
            took = 1000 * (arrivals.wait(RANKS, timeout=300) - client.began)
            client.wait()
            return took

        samples = alternate(scale.of(10, 1), {
            "hpcctl": lambda: first_all_reduce(ours.gang("python", SCRIPT, arrivals.path)),
            "torchrun": lambda: first_all_reduce(torchrun.gang(RANKS, SCRIPT, arrivals.path)),
        }, warm=scale.of(1, 0))
    return [Figure("DDP script to first all-reduce", "ms", samples, [Goal(0.85, peer="torchrun")])]
