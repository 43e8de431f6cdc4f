"""The coordinator is killed while ten thousand runs wait: how soon is it asked with success again?"""

import time

from figures.queue import fill
from measure.figure import Figure, Goal, alternate
from systems.hpcctl import Hpcctl
from systems.slurm import Slurm


def answer(system, *words):
    begin = time.monotonic()
    system.restart_coordinator()
    system.client(*words).wait()
    return time.monotonic() - begin


def measure(scale):
    with Hpcctl() as ours, Slurm() as slurm:
        fill(ours, slurm, scale.of(10000, 100))
        # Slurm only writes down some seconds later what it has acknowledged.
        time.sleep(scale.of(10, 6))
        samples = alternate(scale.of(20, 2), {"hpcctl": lambda: answer(ours, "status"),
                                              "Slurm": lambda: answer(slurm, "sinfo")})
    return [Figure("first answer of a killed coordinator", "s", samples, [Goal(0.3)])]
