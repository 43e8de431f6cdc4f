"""What daemons take of a machine on which nothing runs."""

import time

from measure.figure import Figure, Goal
from measure.process import memory_alone_mb, running_seconds, wakeups
from systems.hpcctl import Hpcctl
from systems.slurm import Slurm


def at_rest(system, calm, seconds):
    system.gang("/bin/true").wait()
    time.sleep(calm)
    pids = {"worker": system.worker_pid, "coordinator": system.coordinator_pid}
    before = {name: (running_seconds(pid), wakeups(pid)) for name, pid in pids.items()}
    time.sleep(seconds)
    return {name: {"memory": memory_alone_mb(pid),
                   "cpu": 100 * (running_seconds(pid) - before[name][0]) / seconds,
                   "wakeups": (wakeups(pid) - before[name][1]) / seconds}
            for name, pid in pids.items()}


def measure(scale):
    calm, seconds, times = scale.of((10, 30, 3), (1, 1, 1))
    taken = {"hpcctl": [], "Slurm": []}
    for _ in range(times):
        for start in (lambda: Hpcctl(nodes=1), lambda: Slurm(nodes=1)):
            with start() as system:
                taken[system.name].append(at_rest(system, calm, seconds))

    def of(who, what):
        return {name: [sample[who][what] for sample in samples] for name, samples in taken.items()}

    return [
        Figure("worker at rest, memory", "MB", of("worker", "memory"), [Goal(14)]),
        Figure("worker at rest, CPU", "% of a core", of("worker", "cpu"), [Goal(0.05)]),
        Figure("worker at rest, wake-ups", "1/s", of("worker", "wakeups"), [Goal(3)]),
        Figure("coordinator at rest, memory", "MB", of("coordinator", "memory"), [Goal(18)]),
        Figure("coordinator at rest, CPU", "% of a core", of("coordinator", "cpu")),
    ]
