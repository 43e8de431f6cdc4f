"""One operation of a system: how long it took, and what the whole system spent on it."""

import time


def operation(system, act, pause, count=1):
    """`act` gives milliseconds. CPU time is counted until `pause` seconds after it, when the system
    has done what it does after it has answered; it is told per operation, of `count` in `act`."""
    before = system.cpu_seconds()
    with system.cpu:
        wall = act()
    time.sleep(pause)
    return {"wall": wall, "cpu": 1000 * (system.cpu_seconds() - before) / count}
