"""Ten thousand nodes that do nothing but say that they are there."""

import time

from measure.figure import Figure, Goal
from measure.process import memory_alone_mb, running_seconds
from systems.simulated import SimulatedCluster

SHARED = 10  # how many connections the nodes share


def at_rest(scale, nodes, **how):
    """Once all are connected and none has been lost since."""
    calm, seconds, times = scale.of((20, 20, 3), (1, 2, 1))
    with SimulatedCluster(nodes, within=scale.of("200s", "1s"), **how) as cluster:
        pid = cluster.coordinator.pid
        time.sleep(calm)
        cpu = []
        for _ in range(times):
            before = running_seconds(pid)
            time.sleep(seconds)
            cpu.append(100 * (running_seconds(pid) - before) / seconds)
        connected = cluster.json("status")["nodes_connected"]
        if connected != nodes or len(cluster.times_connected()) != 1:
            raise AssertionError(f"{connected} of {nodes} nodes are connected, and all were "
                                 f"{len(cluster.times_connected())} times\n{cluster.logs()}")
        return cpu, memory_alone_mb(pid)


def measure(scale):
    nodes = scale.of(10_000, 50)
    shared, shared_memory = at_rest(scale, nodes, connections=SHARED)
    own, own_memory = at_rest(scale, nodes)
    return [
        Figure("coordinator's CPU with many nodes, few connections", "% of a core",
               {"hpcctl": shared}, [Goal(20)]),
        Figure("coordinator's CPU with many nodes, a connection each", "% of a core",
               {"hpcctl": own}, [Goal(40)]),
        Figure("coordinator's memory with many nodes, few connections", "MB",
               {"hpcctl": [shared_memory]}),
        Figure("coordinator's memory with many nodes, a connection each", "MB",
               {"hpcctl": [own_memory]}),
    ]
