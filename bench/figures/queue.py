"""Ten thousand runs that wait: what it takes to list them, to add one, and to keep them."""

import json
import time

from measure.crowd import crowd
from measure.figure import Figure, Goal, alternate
from measure.process import memory_alone_mb, running_seconds
from systems.hpcctl import Hpcctl
from systems.slurm import Slurm


def fill(ours, slurm, runs):
    """Each run is one of its own for Slurm too: of an array it would keep and list one record."""
    ours.occupy()
    ours.submit_all(runs, "/bin/true").wait(timeout=600)
    slurm.occupy()
    crowd(runs, lambda: slurm.submit("/bin/true").wait())


def listed(client, runs, rows):
    done = client.wait()
    if rows(done.out) < runs:
        raise AssertionError(f"{rows(done.out)} of {runs} runs were listed:\n{done.out[:500]}")
    return done.wall_ms


def lines(text):
    return text.count("\n")


def busy_percent(pid, seconds):
    before = running_seconds(pid)
    time.sleep(seconds)
    return 100 * (running_seconds(pid) - before) / seconds


def measure(scale):
    runs = scale.of(10000, 100)
    with Hpcctl() as ours, Hpcctl() as empty, Slurm() as slurm:
        fill(ours, slurm, runs)
        empty.occupy()  # so that the queue is the only difference
        time.sleep(scale.of(10, 1))  # lets the effects of filling the queue pass
        listing = alternate(scale.of(40, 2), {
            "hpcctl": lambda: listed(ours.client("runs"), runs, lines),
            "JSON": lambda: listed(ours.client("runs", "--json"), runs,
                                   lambda text: len(json.loads(text))),
            "Slurm": lambda: listed(slurm.client("squeue"), runs, lines)})
        adding = alternate(scale.of(40, 2), {
            "hpcctl": lambda: ours.submit("/bin/true").wait().wall_ms,
            "hpcctl with no queue": lambda: empty.submit("/bin/true").wait().wall_ms,
            "Slurm": lambda: slurm.submit("/bin/true").wait().wall_ms})
        systems = {"hpcctl": ours, "Slurm": slurm}
        seconds = scale.of(5, 0.5)
        busy = alternate(scale.of(4, 1), {
            name: lambda system=system: busy_percent(system.coordinator_pid, seconds)
            for name, system in systems.items()}, warm=0)
        memory = alternate(1, {
            name: lambda system=system: memory_alone_mb(system.coordinator_pid)
            for name, system in systems.items()}, warm=0)
    table = {name: listing[name] for name in ("hpcctl", "Slurm")}
    as_json = {"hpcctl": listing["JSON"], "Slurm": listing["Slurm"]}
    return [
        Figure("listing a long queue, table", "ms", table, [Goal(0.2, peer="Slurm")]),
        Figure("listing a long queue, JSON", "ms", as_json, [Goal(0.2, peer="Slurm")],
               "Slurm: squeue's table"),
        Figure("submission behind a long queue", "ms", adding, [Goal(1.0, peer="hpcctl with no queue")]),
        Figure("scheduler's CPU with a long queue", "% of a core", busy, [Goal(2)]),
        Figure("coordinator's memory with a long queue", "MB", memory, [Goal(32)]),
    ]
