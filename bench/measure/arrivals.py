"""When ranks got somewhere: they write a line into a pipe that has a name, and we read the clock."""

import os
import pathlib
import select
import shutil
import tempfile
import time


class Arrivals:
    """`path` is open to every account."""

    def __init__(self):
        self._dir = pathlib.Path(tempfile.mkdtemp(prefix="hpc-bench-"))
        self._dir.chmod(0o755)
        self.path = self._dir / "arrived"
        os.mkfifo(self.path)
        self.path.chmod(0o666)
        # The pipe is open for writing too, so that there is no end of file while no rank has it
        # open.
        self._fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        self._there = 0  # lines that were read but not waited for yet

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._fd)
        shutil.rmtree(self._dir)

    def wait(self, ranks, timeout=120):
        """The time (time.monotonic) at which the last of so many has arrived."""
        deadline = time.monotonic() + timeout
        while self._there < ranks:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._fd], [], [], left)[0]:
                raise TimeoutError(f"{self._there} of {ranks} ranks were there within {timeout} s")
            self._there += os.read(self._fd, 4096).count(b"\n")
        self._there -= ranks
        return time.monotonic()
