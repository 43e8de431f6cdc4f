"""torchrun of the torch that HPC_TEST_PYTHON has: ranks on this machine, no daemon."""

import contextlib
import os
import pathlib

from harness.cluster import PYTHON
from measure import command, cpu


def why_not():
    return None if PYTHON else "HPC_TEST_PYTHON names no Python that has torch"


class Torchrun(contextlib.AbstractContextManager):
    name = "torchrun"

    def __init__(self):
        self.cpu = cpu.accounting(self.name)
        bin_folder = pathlib.Path(PYTHON).parent
        self._program = bin_folder / "torchrun"
        self._env = {**os.environ, "OMP_NUM_THREADS": "1",
                     "PATH": f"{bin_folder}:{os.environ['PATH']}"}

    def __exit__(self, *_):
        self.cpu.close()

    def cpu_seconds(self):
        return self.cpu.seconds()

    @staticmethod
    def version():
        ask = "from importlib.metadata import version; print(version('torch'))"
        return f"torch {command.run([PYTHON, '-c', ask], dict(os.environ)).out.strip()}"

    def gang(self, ranks, *words):
        return command.Command([self._program, "--standalone", "--nproc-per-node", ranks, *words],
                               self._env)
