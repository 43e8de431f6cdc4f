"""Ranks, started as a launcher starts them but without one: on loopback, or each on a PC of its own."""

import os
import subprocess
import time

from harness.ports import free_port


class Gang:
    """`command(rank)` is what a rank executes. With `network` (tests/cluster/harness) rank r is on the
    PC of that index. What rank r writes is in `folder`/r.out and r.err. Ended with the block."""

    def __init__(self, ranks, command, folder, network=None, env=None):
        pcs = list(network.hosts) if network else []
        self.folder = folder
        # RES_OPTIONS keeps DNS lookups short. PyTorch's store looks up the name of each client for
        # its log, and waits for the answer.
        common = {**os.environ, "OMP_NUM_THREADS": "1", "RES_OPTIONS": "attempts:1 timeout:1",
                  "WORLD_SIZE": str(ranks), "LOCAL_RANK": "0", "MASTER_PORT": str(free_port()),
                  "MASTER_ADDR": network.address(pcs[0]) if network else "127.0.0.1", **(env or {})}
        folder.mkdir(exist_ok=True)
        self.began = time.monotonic()
        self.ranks = []
        for rank in range(ranks):
            prefix = network.prefix(pcs[rank]) if network else []
            with open(folder / f"{rank}.out", "wb") as out, open(folder / f"{rank}.err", "wb") as err:
                self.ranks.append(subprocess.Popen(
                    [*prefix, *map(str, command(rank))], env={**common, "RANK": str(rank)},
                    stdin=subprocess.DEVNULL, stdout=out, stderr=err))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.ranks:
            process.kill()  # ends a stopped process, too
            process.wait()

    def out(self, rank):
        return (self.folder / f"{rank}.out").read_text()

    def err(self, rank):
        return (self.folder / f"{rank}.err").read_text()

    def finish(self, timeout):
        """All must end with 0."""
        deadline = time.monotonic() + timeout
        for rank, process in enumerate(self.ranks):
            code = process.wait(max(0.1, deadline - time.monotonic()))
            if code != 0:
                raise RuntimeError(f"rank {rank} ({process.args[0]}) ended with {code}: {self.err(rank)}")
