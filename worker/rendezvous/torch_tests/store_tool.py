"""What the tests with torch's own clients share: a Python that has torch, and our server.

Every program here is run by CTest as `python3 PROGRAM STORE_SERVER_TOOL` and takes the Python named
by HPC_TEST_PYTHON (deploy/python-env.sh makes one). Without it, or without torch in it, the program
is skipped.
"""

import importlib.util
import os
import subprocess
import sys

SKIPPED = 77


def use_python_with_torch():
    """Goes on in the Python named by HPC_TEST_PYTHON, or ends the program as skipped."""
    python = os.environ.get("HPC_TEST_PYTHON", "")
    if not python:
        print("skipped: HPC_TEST_PYTHON names no Python with torch")
        sys.exit(SKIPPED)
    if os.environ.pop("HPC_TEST_PYTHON_RUNS", "") != "1":
        os.environ["HPC_TEST_PYTHON_RUNS"] = "1"
        os.execv(python, [python] + sys.argv)
    if importlib.util.find_spec("torch") is None:
        print(f"skipped: {python} has no torch")
        sys.exit(SKIPPED)


class StoreServer:
    """Our server in a process of its own."""

    def __init__(self, tool):
        self.process = subprocess.Popen(
            [tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def status(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        status = {"arrivals": []}
        while (line := self.process.stdout.readline().rstrip("\n")) != "end":
            key, _, value = line.partition(" ")
            if key == "arrival":
                address, pid = value.split()
                status["arrivals"].append((address, int(pid)))
            else:
                status[key] = value if key == "blocked_key" else int(value)
        return status

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)
        self.process.stdout.close()
