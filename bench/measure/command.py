"""A client as a user starts it: one process, timed from before it exists until it has been waited for."""

import contextlib
import ctypes
import dataclasses
import os
import select
import signal
import time

CLONE_NEWNET = 0x40000000


class CommandFailed(Exception):
    pass


@dataclasses.dataclass
class Done:
    wall_ms: float
    out: str


class Command:
    """Started at once, in the current folder; its output goes to memory."""

    _started = set()  # started and not yet waited for

    def __init__(self, argv, env, stdin="/dev/null"):
        self._argv = [str(word) for word in argv]
        self._out = os.memfd_create("out")
        self._err = os.memfd_create("err")
        actions = [(os.POSIX_SPAWN_OPEN, 0, str(stdin), os.O_RDONLY, 0),
                   (os.POSIX_SPAWN_DUP2, self._out, 1), (os.POSIX_SPAWN_DUP2, self._err, 2)]
        self.began = time.monotonic()
        self.pid = os.posix_spawn(self._argv[0], self._argv, env, file_actions=actions)
        self._started.add(self)

    def wait(self, timeout=120, code=0):
        """Fails unless it exits with `code`; None: however it ends."""
        try:
            watch = os.pidfd_open(self.pid)
            try:
                if not select.select([watch], [], [], timeout)[0]:
                    raise CommandFailed(f"{' '.join(self._argv)} still runs after {timeout} s")
            finally:
                os.close(watch)
            _, status = os.waitpid(self.pid, 0)
            wall = 1000 * (time.monotonic() - self.began)
        except BaseException:
            self._kill()
            raise
        self._started.discard(self)
        out, err = (self._text(fd) for fd in (self._out, self._err))
        if code is not None and os.waitstatus_to_exitcode(status) != code:
            raise CommandFailed(f"{' '.join(self._argv)} exited with "
                                f"{os.waitstatus_to_exitcode(status)}\n{out[-2000:]}{err[-2000:]}")
        return Done(wall, out)

    @classmethod
    def kill_all(cls):
        """Those that were started and not waited for, since something failed meanwhile."""
        for one in list(cls._started):
            one._kill()

    def _kill(self):
        self._started.discard(self)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    @staticmethod
    def _text(fd):
        os.lseek(fd, 0, os.SEEK_SET)
        with os.fdopen(fd, errors="replace") as file:
            return file.read()


def run(argv, env, **options):
    return Command(argv, env, **options).wait()


@contextlib.contextmanager
def inside(netns):
    """What this thread starts meanwhile is in that network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(fd):
        if libc.setns(fd, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"network namespace {netns}")

    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    there = os.open(f"/run/netns/{netns}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(there)
        yield
    finally:
        enter(home)
        os.close(there)
        os.close(home)
