"""What was measured on."""

import datetime
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time


def _first(path, key):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(key):
            return line.split(":" if ":" in line else "=", 1)[1].strip().strip('"')
    return "unknown"


def _sync_ms():
    """What durable costs here: 4 KiB more in a file, and fdatasync."""
    took = []
    with tempfile.TemporaryFile() as file:
        for _ in range(50):
            begin = time.monotonic()
            os.write(file.fileno(), bytes(4096))
            os.fdatasync(file.fileno())
            took.append(1000 * (time.monotonic() - begin))
    return statistics.median(took)


def _filesystem():
    done = subprocess.run(["stat", "-f", "-c", "%T", tempfile.gettempdir()], capture_output=True,
                          text=True)
    return done.stdout.strip() or "unknown"


def describe():
    memory = int(_first("/proc/meminfo", "MemTotal").split()[0]) / 2**20
    return {
        "date": datetime.date.today().isoformat(),
        "processor": f"{os.cpu_count()} x {_first('/proc/cpuinfo', 'model name')}",
        "memory": f"{memory:.0f} GiB",
        "system": f"{_first('/etc/os-release', 'PRETTY_NAME')}, Linux {platform.release()}",
        "load before": f"{os.getloadavg()[0]:.1f} (of others; should be near 0)",
        "disk": f"{_filesystem()} in {tempfile.gettempdir()}, fdatasync of 4 KiB {_sync_ms():.2f} ms",
    }
