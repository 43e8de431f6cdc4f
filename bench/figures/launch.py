"""A gang of /bin/true: `hpcctl run -N 4` against `srun -N 4`."""

import contextlib

from measure import command
from measure.figure import Figure, Goal, alternate, column
from measure.operation import operation
from harness.network import Network
from systems.hpcctl import Hpcctl
from systems.slurm import Slurm

PAUSE = 0.15  # srun's nodes stay in "completing" for a while, and would make the next one wait


def measure(scale):
    with contextlib.ExitStack() as stack:
        slurm = stack.enter_context(Slurm())
        ours = stack.enter_context(Hpcctl())
        alone = Network.available()  # None: network namespaces are available
        far = stack.enter_context(Hpcctl(network=True)) if alone is None else ours
        laptop = far.cluster.network.hosts["pc1"][0] if far.cluster.network else None

        def by_tcp():
            with command.inside(laptop) if laptop else contextlib.nullcontext():
                return far.gang("/bin/true", tcp=True).wait().wall_ms

        samples = alternate(scale.of(60, 3), {
            "hpcctl": lambda: operation(ours, lambda: ours.gang("/bin/true").wait().wall_ms, PAUSE),
            "far": lambda: operation(far, by_tcp, PAUSE),
            "Slurm": lambda: operation(slurm, lambda: slurm.gang("/bin/true").wait().wall_ms, PAUSE),
        }, warm=2)
    peer = samples["Slurm"]
    near = {"hpcctl": samples["hpcctl"], "Slurm": peer}
    far = {"hpcctl": samples["far"], "Slurm": peer}
    note = f"over loopback: {alone}" if alone else ""
    return [
        Figure("launch of a gang, Unix socket", "ms", column(near, "wall"),
               [Goal(0.28, peer="Slurm")]),
        Figure("launch of a gang, TCP from another host", "ms", column(far, "wall"),
               [Goal(0.4, peer="Slurm")], note),
        Figure("CPU of a gang's launch, Unix socket", "ms", column(near, "cpu")),
        Figure("CPU of a gang's launch, TCP from another host", "ms", column(far, "cpu"), [], note),
    ]
