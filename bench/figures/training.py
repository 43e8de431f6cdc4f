"""From the command to the first gradients that are the same on all ranks."""

import pathlib

from measure.arrivals import Arrivals
from measure.figure import Figure, Goal, alternate, column
from measure.operation import operation
from systems.hpcctl import Hpcctl
from systems.torchrun import Torchrun

RANKS = 4
SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "scripts" / "first_all_reduce.py"


def measure(scale):
    with Hpcctl(nodes=RANKS) as ours, Torchrun() as torchrun, Arrivals() as arrivals:
        def first_all_reduce(start):
            client = start()
            took = 1000 * (arrivals.wait(RANKS, timeout=300) - client.began)
            # All ranks have arrived. The exit code is ignored, since Gloo aborts some processes
            # while they leave.
            client.wait(code=None)
            return took

        def gang(*options):
            return lambda: ours.gang("python", SCRIPT, arrivals.path, options=options)

        # The benchmark's account has no home, so each attempt has one of its own; but only what has
        # the same variables starts warm.
        ways = {"hpcctl": (ours, gang("--warm", "off")),
                "warm": (ours, gang("--env", f"HOME={ours.cluster.dir}")),
                "torchrun": (torchrun, lambda: torchrun.gang(RANKS, SCRIPT, arrivals.path))}
        samples = alternate(scale.of(10, 1), {
            name: lambda system=system, start=start: operation(
                system, lambda: first_all_reduce(start), pause=0.5)
            for name, (system, start) in ways.items()}, warm=scale.of(1, 0))
    cold = {name: samples[name] for name in ("hpcctl", "torchrun")}
    warm = {"hpcctl": samples["warm"], "torchrun": samples["torchrun"]}
    return [
        Figure("DDP script to first all-reduce", "ms", column(cold, "wall"),
               [Goal(0.85, peer="torchrun")]),
        Figure("DDP script to first all-reduce, second start", "ms", column(warm, "wall"),
               [Goal(0.05, peer="torchrun")]),
        Figure("CPU of a DDP script of one step", "ms", column(cold, "cpu")),
        Figure("CPU of a DDP script of one step, second start", "ms", column(warm, "cpu")),
    ]
