"""One child process of a test: started, read, killed, never left behind."""

import os
import signal
import subprocess
import time


class Process:
    """A daemon or client whose output goes to a file, so that it can never block on a pipe."""

    def __init__(self, argv, log, env=None, prefix=(), ready=False, cwd=None):
        self.log = log
        self.ready_line = ""
        argv = list(prefix) + [str(a) for a in argv]
        pass_fds = ()
        if ready:
            reader, writer = os.pipe()
            argv += ["--ready-fd", str(writer)]
            pass_fds = (writer,)
        with open(log, "ab") as out:
            self.popen = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env,
                pass_fds=pass_fds, cwd=cwd)
        if ready:
            os.close(writer)
            with os.fdopen(reader) as pipe:
                self.ready_line = pipe.readline().strip()
            if not self.ready_line:
                self.popen.wait()
                raise AssertionError(
                    f"{argv[0]} did not start (exit {self.popen.returncode}):\n{self.output()}")

    @property
    def pid(self):
        return self.popen.pid

    def ready_value(self, key):
        """The value of key=value in the ready line."""
        for word in self.ready_line.split():
            if word.startswith(key + "="):
                return word[len(key) + 1:]
        raise AssertionError(f"no {key}= in the ready line '{self.ready_line}'")

    def output(self):
        with open(self.log, errors="replace") as file:
            return file.read()

    def alive(self):
        return self.popen.poll() is None

    def signal(self, number):
        if self.alive():
            self.popen.send_signal(number)

    def kill(self):
        """kill -9, and reap."""
        self.signal(signal.SIGKILL)
        self.popen.wait()

    def terminate(self, timeout=15):
        """SIGTERM; returns the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def wait(self, timeout=30):
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running after {timeout} s:\n{self.output()}") from None


def eventually(condition, what, timeout=20, interval=0.02):
    """Returns the first truthy value of condition(); fails, naming `what`, when there is none."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(interval)
