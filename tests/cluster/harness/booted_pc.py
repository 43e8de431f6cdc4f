"""One PC with systemd: this machine's own files, booted in a container that keeps no change.

Needs root, systemd-nspawn (Debian's systemd-container) and overlayfs.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from .process import eventually

BOOT = r"""
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup &&
mount -t overlay overlay -o lowerdir=/,upperdir="$0/upper",workdir="$0/work" "$0/root" || exit 1
exec systemd-nspawn --quiet --register=no --keep-unit --console=pipe --private-network \
  --directory="$0/root" --boot
"""


class BootedPc:
    address = "192.168.77.1"

    def __init__(self):
        """Raises unittest.SkipTest where this machine allows no such container."""
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="hpc-booted-"))
        self.container = None
        self.pid = None
        try:
            self._boot()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def available():
        """None if a PC can be booted here, else why not."""
        if os.geteuid() != 0:
            return "booting a container needs root"
        for program in ("systemd-nspawn", "nsenter", "unshare"):
            if shutil.which(program) is None:
                return f"there is no {program} here"
        if not os.path.exists("/lib/systemd/systemd"):
            return "this machine has no systemd to boot"
        return None

    def _boot(self):
        # Changes stay in memory, since an overlay's upper folder may not be on an overlay itself.
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", self.dir], check=True)
        for name in ("upper", "work", "root"):
            (self.dir / name).mkdir()
        units = self.dir / "upper/etc/systemd/system"
        units.mkdir(parents=True)
        # The PC boots without the services of this machine.
        (units / "default.target").symlink_to("/lib/systemd/system/basic.target")
        # Each machine has a machine id of its own.
        (self.dir / "upper/etc/machine-id").touch()
        self.log = open(self.dir / "boot.log", "wb")
        self.container = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c", BOOT, self.dir],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        try:
            eventually(self._find_init, "systemd runs", 20)
            eventually(lambda: self.run("systemctl is-system-running", check=False).stdout.strip()
                       in ("running", "degraded"), "the PC is booted", 30)
        except AssertionError as error:
            raise unittest.SkipTest(f"no PC can be booted here: {error}\n{self.boot_log()}")
        self.run("ip link set lo up; ip link add lan type veth peer name lan-peer; "
                 f"ip addr add {self.address}/24 dev lan; ip link set lan up; ip link set lan-peer up")

    def _find_init(self):
        if self.container.poll() is not None:
            raise AssertionError(f"it ended with {self.container.returncode}")
        for children in pathlib.Path(f"/proc/{self.container.pid}/task").glob("*/children"):
            for pid in children.read_text().split():
                if self._program(pid).endswith(b"/systemd"):
                    self.pid = int(pid)
                    return True
        return False

    @staticmethod
    def _program(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
        except (FileNotFoundError, ProcessLookupError):
            return b""  # it ended meanwhile

    def boot_log(self):
        self.log.flush()
        return (self.dir / "boot.log").read_text(errors="replace")

    def run(self, command, check=True, timeout=60):
        """Runs a shell command on the PC, as root."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.pid), "-m", "-p", "-n", "-i", "-u", "-C", "bash", "-c",
             f"cd /tmp; {command}"],
            capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                 "HOME": "/root", "LANG": "C.UTF-8"})
        if check and done.returncode != 0:
            raise AssertionError(f"{command} exited with {done.returncode}\n{done.stdout}"
                                 f"{done.stderr}\n{self.journal()}")
        return done

    def put(self, source, target):
        """Copies a file onto the PC; a program that runs there goes on with the old one."""
        data = pathlib.Path(source).read_bytes()
        self.run(f"mkdir -p {os.path.dirname(target)}")
        subprocess.run(
            ["nsenter", "-t", str(self.pid), "-m", "bash", "-c",
             f"cat > {target}.new && chmod {os.stat(source).st_mode & 0o777:o} {target}.new && "
             f"mv {target}.new {target}"], input=data, check=True)

    def journal(self):
        return self.run("journalctl --no-pager -n 60 -u 'hpc-*'", check=False).stdout

    def close(self):
        if self.container is not None and self.container.poll() is None:
            if self.pid is not None:
                os.kill(self.pid, 9)  # ends all of its processes
            else:
                self.container.kill()
            self.container.wait()
        if self.container is not None:
            self.log.close()
        subprocess.run(["umount", "-l", self.dir], check=False, capture_output=True)
        self.dir.rmdir()
