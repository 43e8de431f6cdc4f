"""One rank that writes as fast as it is let."""

from measure.arrivals import Arrivals
from measure.figure import Figure, Goal, alternate
from systems.hpcctl import Hpcctl

LINE = "step 1234 loss 0.123456 accuracy 0.987654 examples/s 12345.6 memory 12.3 GiB"
WRITE = """
echo >{arrivals}
yes '{line}' | head -c {size}
echo >{arrivals}
"""


def measure(scale):
    megabytes = scale.of(2000, 20)
    with Hpcctl(nodes=1) as ours, Arrivals() as arrivals:
        script = WRITE.format(arrivals=arrivals.path, line=LINE, size=megabytes * 1000000)

        def rate():
            run = ours.submit("sh", "-c", script)
            begin = arrivals.wait(1)
            took = arrivals.wait(1, timeout=600) - begin
            run.wait()
            ours.settle(0.2)
            return megabytes / took

        samples = alternate(scale.of(5, 1), {"hpcctl": rate})
        late = [event["text"] for event in ours.cluster.events()
                if event["kind"] in ("node.lost", "node.disconnected")]
    return [Figure("log of one rank at full speed", "MB/s", samples, [Goal(200, at_most=False)],
                   f"late heartbeats: {'; '.join(late)}" if late else "no heartbeat was late")]
