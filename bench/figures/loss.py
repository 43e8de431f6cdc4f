"""A node of a gang is killed while another stands ready: when does the gang run on that?"""

import os
import time

from harness.beats import Beats
from harness.process import eventually
from measure.figure import Figure, Goal, alternate
from systems.hpcctl import Hpcctl
from systems.slurm import Slurm

GANG = 4


def ours_again(system):
    cluster = system.cluster
    eventually(lambda: all(node["state"] == "idle" for node in cluster.json("nodes")),
               "all PCs are idle", 60)
    beats = Beats(cluster, GANG)
    lost = beats.where()[-1]
    time.sleep(2 * os.urandom(1)[0] / 256)  # a moment anywhere between two heartbeats
    since = time.time()
    cluster.workers[lost].kill()
    took = beats.wait_began(1) - since
    cluster.start_worker(lost)
    beats.end()
    return took


def slurms_again(system):
    system.settle()
    with system.gang_of_beats(GANG) as beats:
        lost = beats.nodes()[-1]
        since = time.time()
        system.kill_node(lost)
        took = beats.wait_began(1, timeout=180) - since
    system.start_node(lost)
    return took


def measure(scale):
    with Slurm(nodes=GANG + 1) as slurm, Hpcctl(nodes=GANG + 1) as ours:
        samples = alternate(scale.of(5, 1), {"hpcctl": lambda: ours_again(ours),
                                             "Slurm": lambda: slurms_again(slurm)}, warm=0)
    return [Figure("gang on a spare after a node was killed", "s", samples, [Goal(1.0)])]
