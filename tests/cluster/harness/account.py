"""The account that ranks run as where the tests run as root: no worker starts a rank as root."""

import ctypes
import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

NAME = "nobody"
CLONE_NEWNS = 0x00020000


def needed():
    return os.geteuid() == 0


def serves_twice():
    """Whether a supervisor may serve a second attempt here: for another account, with cgroups of its
    own that can be killed."""
    if not needed() or os.environ.get("HPC_TEST_NO_REUSE") == "1":
        return False
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    folders = [line.split()[4] for line in mounts if " - cgroup2 " in line]
    own = [line[3:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()
           if line.startswith("0::")]
    if not folders or not own:
        return False
    try:
        trial = tempfile.mkdtemp(prefix="hpc-trial-", dir=folders[0] + own[0])
    except OSError:
        return False
    try:
        return os.access(f"{trial}/cgroup.kill", os.W_OK)
    finally:
        os.rmdir(trial)


def open_way(*paths):
    """Lets every account reach these folders, for this process and its children only.

    A clone or an environment below root's home is closed to all others. In a mount namespace of our
    own something else lies over such a home, with nothing in it but what is wanted.
    """
    closed = {}
    for path in {pathlib.Path(p).resolve() for p in paths}:
        if (barrier := _barrier(path)) is not None:
            closed.setdefault(barrier, []).append(path)
    if not closed:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise unittest.SkipTest(f"ranks of {NAME} cannot enter {', '.join(map(str, closed))}, and "
                                f"no mount namespace can be had: {os.strerror(ctypes.get_errno())}")
    _mount("--make-rprivate", "/")
    for barrier, inner in closed.items():
        _cover(barrier, inner)
    # Leaves and enters the folder again, since the path that was covered leads nowhere now.
    os.chdir(os.getcwd())


def _barrier(path):
    """The outermost folder on the way to `path` that not everybody may enter."""
    for folder in [*reversed(path.parents), path]:
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None


def _cover(barrier, paths):
    with tempfile.TemporaryDirectory(dir="/tmp") as aside:
        kept = []
        for index, path in enumerate(paths):
            kept.append(pathlib.Path(aside) / str(index))
            kept[-1].mkdir()
            _mount("--rbind", path, kept[-1])
        _mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", barrier)
        for path, place in zip(paths, kept):
            path.mkdir(parents=True, exist_ok=True)
            _mount("--move", place, path)


def _mount(*args):
    subprocess.run(["mount", *map(str, args)], check=True)

