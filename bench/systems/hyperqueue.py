"""HyperQueue: server and workers in one process (scripts/hyperqueue_server.py)."""

import contextlib
import os
import pathlib
import select
import shutil
import subprocess
import tempfile

from measure import command, cpu
from systems.hpcctl import SLOTS

PYTHON = os.environ.get("HPC_BENCH_HYPERQUEUE_PYTHON", "")
SERVER = pathlib.Path(__file__).resolve().parents[1] / "scripts" / "hyperqueue_server.py"


def why_not():
    return None if PYTHON else "HPC_BENCH_HYPERQUEUE_PYTHON names no Python that has it"


class HyperQueue(contextlib.AbstractContextManager):
    name = "HyperQueue"

    def __init__(self, nodes=4):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="hpc-bench-hq-"))
        self.cpu = cpu.accounting("hyperqueue")
        self.server = None
        try:
            with self.cpu, open(self.dir / "log", "wb") as log:
                self.server = subprocess.Popen(
                    [PYTHON, SERVER, self.dir / "server", str(nodes), str(SLOTS)], cwd=self.dir,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                    env={**os.environ, "TQDM_DISABLE": "1"})
            self._answer(60)
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()

    @staticmethod
    def version():
        ask = "from importlib.metadata import version; print(version('hyperqueue'))"
        return f"hyperqueue {command.run([PYTHON, '-c', ask], dict(os.environ)).out.strip()}"

    def close(self):
        if self.server is not None:
            self.server.kill()  # it has nothing to save
            self.server.wait()
            self.server.stdin.close()
            self.server.stdout.close()
        self.cpu.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def cpu_seconds(self):
        return self.cpu.seconds([self.server.pid])

    def run_tasks(self, count):
        """Seconds from submission until its client has seen all of them end."""
        self.server.stdin.write(f"{count}\n")
        self.server.stdin.flush()
        return float(self._answer(600))

    def _answer(self, timeout):
        if select.select([self.server.stdout], [], [], timeout)[0]:
            if line := self.server.stdout.readline():
                return line
        raise AssertionError(f"HyperQueue does not answer:\n{(self.dir / 'log').read_text()[-2000:]}")
