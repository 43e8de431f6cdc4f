#!/usr/bin/env python3
"""Four PCs with links of 1 Gbit/s and the gradients of ResNet-50: how long is a step of each way to reduce?

    bench/wire.py [--turns 3] [--steps 10] [--slow 2] [--only none,bf16,powersgd,local]

Each rank is in a network namespace of its own behind a link that carries 1 Gbit/s each way (tbf at both
ends; needs root). Computing is a wait of 250 ms, a third of it the forward pass; in the rest each layer's
gradients become ready when its share of the operations of a backward pass is over. The ways take turns.

The PCs are on one machine, whose cores they share: a PC would have its own. So time is stretched: with
--slow 2 links carry half as much and waits take twice as long, and printed times are divided by it. Four
PCs on two cores then have one core each, as four PCs whose other cores are busy. --slow 1 does not stretch:
there the four have to make do with this machine's cores. Compressing and adding costs CPU, so that shows.

    step         milliseconds of a step of the slowest rank, median; from all ranks being there until
                 backward() returned. local: of one of --local-steps steps, with the averaging
    speed        times the samples a second of one PC, which takes 250 ms: 4 x 250 / step
    on the wire  MB (10^6 bytes) that a rank's interface sent in a step, with headers
    limit        of the ring: 2 (N-1)/N x bytes of the gradients / what a link carries of payload
                 (1 Gbit/s x 1448/1514). `of it`: from the first ready gradient until backward() returned,
                 by the limit
    CPU          milliseconds of a rank's process a step
"""

import argparse
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from harness.cluster import BIN  # noqa: E402
from harness.network import Network  # noqa: E402
from measure.gang import Gang  # noqa: E402

RANKS = 4
COMPUTE_MS = 250
PARAMETERS = 25_557_032
PAYLOAD_BYTES_PER_MS = 1e9 / 8 / 1000 * 1448 / 1514


def measure(kind, args, network, folder):
    """Of each step: [milliseconds, of them from the first gradient on, CPU, bytes], of the slowest rank
    (bytes and CPU: mean of all)."""
    local = kind == "local"
    steps = 1 if local else args.steps
    command = lambda rank: [BIN / "hpc-wire-step", kind, COMPUTE_MS * args.slow, steps,  # noqa: E731
                            args.local_steps]
    with Gang(RANKS, command, folder, network) as gang:
        gang.finish(timeout=600)
        lines = [[list(map(float, line.split())) for line in gang.out(rank).splitlines()]
                 for rank in range(RANKS)]
    by = args.local_steps if local else 1
    return [(max(one[0] for one in step) / args.slow / by, max(one[1] for one in step) / args.slow / by,
             statistics.mean(one[2] for one in step) / by, statistics.mean(one[3] for one in step) / by)
            for step in zip(*lines)]


def verdict(value, goal, most):
    reached = value <= goal if most else value >= goal
    return f"goal {'at most' if most else 'at least'} {goal}: {'reached' if reached else 'MISSED'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10, help="of each turn")
    parser.add_argument("--slow", type=float, default=2)
    parser.add_argument("--local-steps", type=int, default=128)
    parser.add_argument("--only", default="none,bf16,powersgd,local")
    args = parser.parse_args()
    if why := Network.available():
        sys.exit(why)
    kinds = args.only.split(",")
    steps = {kind: [] for kind in kinds}
    network = Network([f"pc{rank}" for rank in range(RANKS)])
    try:
        for rank in range(RANKS):
            network.throttle(f"pc{rank}", f"{1000 / args.slow:.0f}mbit", burst="128kb")
        with tempfile.TemporaryDirectory(prefix="hpc-wire-") as folder:
            for turn in range(args.turns):
                for kind in kinds:
                    if kind != "local" or turn == 0:
                        steps[kind] += measure(kind, args, network, pathlib.Path(folder) / "ranks")
    finally:
        network.close()

    limit = 2 * (RANKS - 1) / RANKS * PARAMETERS * 4 / PAYLOAD_BYTES_PER_MS
    print(f"{RANKS} PCs, {PARAMETERS * 4 / 1e6:.1f} MB of gradients, {COMPUTE_MS} ms of computing, time "
          f"stretched {args.slow:g} x; the ring's limit is {limit:.0f} ms, in bf16 {limit / 2:.0f} ms")
    print(f"{'':10} {'step':>8} {'speed':>7} {'on the wire':>12} {'of the limit':>13} {'CPU':>7}")
    median = {}
    for kind in kinds:
        took, sending, cpu, sent = (statistics.median(values) for values in zip(*steps[kind]))
        share = sending / limit * (2 if kind == "bf16" else 1)
        median[kind] = {"speed": RANKS * COMPUTE_MS / took, "share": share, "sent": sent}
        print(f"{kind:10} {took:5.0f} ms {median[kind]['speed']:5.2f} x {sent / 1e6:9.2f} MB "
              f"{share if kind in ('none', 'bf16') else float('nan'):11.2f} x {cpu:4.0f} ms")
    if "none" in median:
        print("uncompressed, of the ring's limit:", verdict(round(median["none"]["share"], 3), 1.1, True))
    if "none" in median and "bf16" in median:
        ratio = median["bf16"]["sent"] / median["none"]["sent"]
        print(f"bf16 sends {ratio:.3f} of the bytes:", verdict(round(ratio, 3), 0.505, True))
    for kind, goal in (("powersgd", 3.63), ("local", 3.9)):
        if kind in median:
            print(f"{kind} by one PC:", verdict(round(median[kind]["speed"], 2), goal, False))


if __name__ == "__main__":
    main()
