"""What the kernel tells of a process: memory, CPU time, how often it woke."""

import os
import pathlib


def memory_mb(pid):
    """Proportional set size, and of it what is no page of a file (anonymous)."""
    sizes = {}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        key, value = line.split()[:2]
        sizes[key] = int(value) / 1024
    return sizes["Pss:"], sizes["Pss_Anon:"]


def memory_alone_mb(pid):
    """Proportional set size as if no other process ran this program."""
    program = os.readlink(f"/proc/{pid}/exe")
    whole, size = False, 0
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        key, *rest = line.split(None, 5)
        if not key.endswith(":"):  # a mapping begins
            whole = rest[-1] == program
        elif key == ("Rss:" if whole else "Pss:"):
            size += int(rest[0])
    return size / 1024


def cpu_seconds(pid, waited_for=False):
    """In steps of a clock tick (10 ms). `waited_for`: with its children's that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    count = 4 if waited_for else 2
    return sum(map(int, fields[11:11 + count])) / os.sysconf("SC_CLK_TCK")


def running_seconds(pid):
    """CPU time of its threads that live, to the nanosecond."""
    return sum(int(file.read_text().split()[0])
               for file in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def wakeups(pid):
    """How often its threads that live have gone to sleep by themselves."""
    count = 0
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        for line in file.read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                count += int(line.split()[1])
    return count
