"""A hundred thousand runs that are over: does anything get slower, and what do they take?"""

from measure.figure import Figure, Goal, alternate
from measure.process import memory_alone_mb
from systems.hpcctl import Hpcctl

LISTED = 100
AT_ONCE = 10000  # below the number of unfinished runs that a user may have


def have_run(system, runs):
    for begun in range(0, runs, AT_ONCE):
        system.submit_all(min(AT_ONCE, runs - begun), "/bin/true").wait(timeout=600)
        system.settle(1)


def measure(scale):
    with Hpcctl() as ours, Hpcctl() as fresh:
        have_run(ours, scale.of(100000, 200))
        have_run(fresh, LISTED)
        systems = {"hpcctl": ours, "hpcctl with none": fresh}

        def acknowledged(system):
            took = system.submit("/bin/true").wait().wall_ms
            system.settle()
            return took

        times = scale.of(40, 2)
        adding = alternate(times, {name: lambda system=system: acknowledged(system)
                                   for name, system in systems.items()})
        listing = alternate(times, {
            name: lambda system=system: system.client("runs", "-n", LISTED).wait().wall_ms
            for name, system in systems.items()})
        memory = alternate(1, {name: lambda system=system: memory_alone_mb(system.coordinator_pid)
                               for name, system in systems.items()}, warm=0)
    return [
        Figure("submission after a long history", "ms", adding, [Goal(1.0, peer="hpcctl with none")]),
        Figure("listing the last after a long history", "ms", listing,
               [Goal(1.0, peer="hpcctl with none")]),
        Figure("coordinator's memory after a long history", "MB", memory, [Goal(40)]),
    ]
