"""Many runs of one rank: by one client, and by a client each."""

import json
import time

from measure.crowd import crowd
from measure.figure import Figure, Goal, alternate, column
from measure.operation import operation
from systems.hpcctl import Hpcctl
from systems.hyperqueue import HyperQueue
from systems.slurm import Slurm

LOOK = 0.2  # seconds between two looks at Slurm's queue


def per_second(samples, counts):
    return {name: [1000 * counts[name] / sample["wall"] for sample in taken]
            for name, taken in samples.items()}


def one_client(ours, runs):
    answers = ours.submit_all(runs, "/bin/true").wait(timeout=600).out.splitlines()
    ours.wait_over([json.loads(answer)["id"] for answer in answers])


def a_client_each(ours, runs):
    ours.wait_over(crowd(runs, lambda: ours.submit("/bin/true").wait().out.strip()))


def slurm_one_client(slurm, runs):
    slurm.submit_all(runs, "/bin/true").wait()
    slurm.settle(LOOK)


def slurm_a_client_each(slurm, runs):
    crowd(runs, lambda: slurm.submit("/bin/true").wait())
    slurm.settle(LOOK)


def measure(scale):
    runs, tasks = scale.of((500, 5000), (40, 40))
    counts = {"hpcctl": runs, "Slurm": runs, "HyperQueue": tasks}
    times = scale.of(7, 1)

    def way(system, act):
        count = counts[system.name]

        def timed():
            begin = time.monotonic()
            act(system, count)
            return 1000 * (time.monotonic() - begin)
        return lambda: operation(system, timed, 0.3, count)

    with Hpcctl() as ours, Slurm() as slurm, HyperQueue() as hyperqueue:
        stream = alternate(times, {
            "hpcctl": way(ours, one_client), "Slurm": way(slurm, slurm_one_client),
            "HyperQueue": way(hyperqueue, HyperQueue.run_tasks)})
        separate = alternate(times, {
            "hpcctl": way(ours, a_client_each), "Slurm": way(slurm, slurm_a_client_each)})
    return [
        Figure("rate of runs, one client", "runs/s", per_second(stream, counts),
               [Goal(10, at_most=False, peer="Slurm"), Goal(1, at_most=False, peer="HyperQueue")]),
        Figure("CPU of a run, one client", "ms", column(stream, "cpu"),
               [Goal(0.1, peer="Slurm"), Goal(1, peer="HyperQueue")]),
        Figure("rate of runs, a client each", "runs/s", per_second(separate, counts),
               [Goal(3, at_most=False, peer="Slurm")]),
        Figure("CPU of a run, a client each", "ms", column(separate, "cpu")),
    ]
