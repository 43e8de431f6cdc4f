"""One run of one rank: until it is acknowledged, and until its rank executes something."""

import random
import time

from measure.arrivals import Arrivals
from measure.figure import Figure, Goal, alternate
from systems.hpcctl import Hpcctl
from systems.slurm import Slurm


def any_moment():
    """Slurm's scheduler has a turn each second: every part of it is met alike."""
    time.sleep(random.uniform(0.1, 1.1))


def acknowledged(system):
    took = system.submit("/bin/true").wait().wall_ms
    system.settle()
    any_moment()
    return took


def first_instruction(system, arrivals):
    # sbatch needs one quoted word, because it has a shell read it. hpcctl uses no shell, so one is
    # named.
    word = f"echo >{arrivals.path}"
    words = ("sh", "-c", word) if isinstance(system, Hpcctl) else (word,)
    client = system.submit(*words)
    took = 1000 * (arrivals.wait(1) - client.began)
    client.wait()
    system.settle()
    any_moment()
    return took


def measure(scale):
    with Hpcctl() as ours, Slurm() as slurm, Arrivals() as arrivals:
        systems = {"hpcctl": ours, "Slurm": slurm}
        answer = alternate(scale.of(40, 2), {
            name: lambda system=system: acknowledged(system) for name, system in systems.items()})
        start = alternate(scale.of(40, 2), {
            name: lambda system=system: first_instruction(system, arrivals)
            for name, system in systems.items()})
    return [
        Figure("submission acknowledged", "ms", answer, [Goal(0.75, peer="Slurm")]),
        Figure("submission to first instruction", "ms", start, [Goal(0.05, peer="Slurm")]),
    ]
