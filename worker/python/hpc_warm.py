"""The parent of later ranks: a Python that has imported what their program will import.

It is started as the rank would be, with the same words, variables and folder, and comes here before
anything of the program (sitecustomize.py). It imports, once, what the program names of installed
packages, and then waits. For each rank that its supervisor asks for it makes a copy of itself. The
copy returns from serve(), and the interpreter goes on in it as in any other start: so __main__,
tracebacks and the ways to end are Python's own.

What is imported here is never the user's own: that may change from one attempt to the next.
"""
import gc
import os
import sys
import warnings

import _socket

from hpc_warm_reads import Reads, learn_rank

_MOST_BYTES = 256 << 10
# stdin, stdout, stderr, and a socket: it says "g" for go, and is closed once the rank has begun
_FILES = 4
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9


class Cold(Exception):
    """Why ranks of this program cannot be copies of one process."""


def serve(number):
    """Imports, and makes ranks for whoever is at the other end of the socket, until it closes.

    Returns only in a rank.
    """
    socket = _socket.socket(fileno=number)
    os.set_inheritable(number, False)
    try:
        parent = _Parent(socket.recv(_MOST_BYTES).decode().split())
    except Cold as reason:
        _say(socket, "cold", reason)
        os._exit(0)
    _say(socket, "ready", "%d" % parent.modules)
    while True:
        message, ancillary, _, _ = socket.recvmsg(_MOST_BYTES, _socket.CMSG_SPACE(_FILES * 4))
        if not message:
            os._exit(0)
        wish = _Wish(message, ancillary)
        changed = parent.changed()
        if changed:
            _say(socket, "cold", changed)
            os._exit(0)
        pid = parent.copy()
        if pid == 0:
            os.close(socket.detach())
            parent.become(wish)
            return
        wish.close()
        _say(socket, "rank", "%d" % pid)


def _say(socket, what, words):
    socket.send(("%s %s" % (what, words)).encode("utf-8", "replace")[:1000])


class _Wish:
    """A rank that is asked for: its arguments, its variables, its files."""

    def __init__(self, message, ancillary):
        # "2", then two arguments, then the variables, each ended by NUL
        texts = message.split(b"\0")[:-1]
        count = int(texts[0])
        self.arguments = [os.fsdecode(each) for each in texts[1:count + 1]]
        self.variables = dict(each.split(b"=", 1) for each in texts[count + 1:])
        self.variables.pop(b"HPC_PYTHON_NOTE", None)  # which sitecustomize.py has taken away
        self.files = []
        for level, kind, data in ancillary:
            if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                self.files += [int.from_bytes(data[i:i + 4], sys.byteorder)
                               for i in range(0, len(data) - len(data) % 4, 4)]
        if len(self.files) != _FILES:
            raise ValueError("%d files came" % len(self.files))

    def close(self):
        for each in self.files:
            os.close(each)


class _Parent:
    """A Python that has imported, and has one thread.

    `of_a_rank`: the variables that differ between ranks and attempts, "RANK", or "HPC_*" for all that
    begin so. A parent has none of them.
    """

    def __init__(self, of_a_rank):
        self._supervisor = os.getppid()
        self._python_s = _variables_of_python()
        # Where memory is short, this process goes first, since nothing is lost with it.
        self._oom_score = _oom_score("1000")
        # Otherwise asking whether there is a GPU begins to use it.
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
        self._reads = Reads(of_a_rank)
        self._output = [_Capture(1), _Capture(2)]
        open_before = _open_files()
        show = warnings.showwarning
        for name, attribute in _imports_of_program():
            if name == "-":  # from here on the program shows no warnings, or chooses which
                warnings.showwarning = _show_nothing
            else:
                self._import(name, attribute)
        if warnings.showwarning is _show_nothing:
            warnings.showwarning = show
        self._reads.end()
        self._none_shared(open_before)
        for each in self._output:
            each.end()
        # A copy then ends in half the time: Python looks at every object that is not frozen.
        gc.collect()
        gc.freeze()
        self.modules = len(sys.modules)
        self._versions = {path: _version(path) for path in _files_of_modules()}
        self._beside = _beside_program()
        self._own_of_old = {each for each in self._beside if os.path.lexists(each)}
        import ctypes  # after the imports: some replace it
        import resource

        self._resource = resource

        self._prctl = ctypes.CDLL(None).prctl

    def _import(self, name, attribute):
        threads = _threads()
        try:
            __import__(name)
            if attribute and not hasattr(sys.modules[name], attribute):
                __import__("%s.%s" % (name, attribute))
        except Exception:  # the program will see it, too
            pass
        if _threads() > threads and _threads_after_a_fork() > 1:
            raise Cold("importing %s starts threads, which no copy would have" % name)
        if self._reads.strange:
            raise Cold("importing %s reads %s, which differs between ranks" % self._reads.strange)
        if self._reads.seeded():
            raise Cold("importing %s chooses the random numbers" % name)

    def _none_shared(self, open_before):
        """Copies must not have threads, processes, connections or devices in common."""
        if _threads() > 1 and _threads_after_a_fork() > 1:
            raise Cold("its imports start threads, which no copy would have")
        with open("/proc/self/task/%d/children" % os.getpid()) as file:
            if file.read().strip():
                raise Cold("its imports start processes")
        for name in _open_files() - open_before:
            if name.startswith(("/dev/", "socket:", "pipe:", "anon_inode:")):
                raise Cold("its imports open %s, which copies would share" % name)

    def changed(self):
        """Says what was changed on disk since it was imported, or ""."""
        for path, version in self._versions.items():
            if _version(path) != version:
                return "%s has changed" % path
        for path in self._beside:
            if path not in self._own_of_old and os.path.lexists(path):
                return "%s hides what was imported" % path
        return ""

    def copy(self):
        """Makes a rank, a child of the supervisor. Returns its pid, and 0 in the rank itself."""
        # The supervisor adopts what loses its parent. So a rank is made by a process that ends.
        read, write = os.pipe()
        between = os.fork()
        if between == 0:
            rank = os.fork()
            if rank != 0:
                os.write(write, b"%d" % rank)
                os._exit(0)
            os.close(read)
            os.close(write)
            return 0
        os.close(write)
        os.waitpid(between, 0)
        rank = int(os.read(read, 20))
        os.close(read)
        return rank

    def become(self, wish):
        """Makes this process the rank that was asked for, once the supervisor says "go"."""
        if os.read(wish.files[3], 1) != b"g":
            os._exit(127)
        self._prctl(_PR_SET_PDEATHSIG, _SIGKILL)
        if os.getppid() != self._supervisor:
            os._exit(127)
        os.setsid()
        _oom_score(self._oom_score)
        hard = self._resource.getrlimit(self._resource.RLIMIT_CPU)[1]
        self._resource.setrlimit(self._resource.RLIMIT_CPU, (hard, hard))
        for number in range(3):
            os.dup2(wish.files[number], number)
        _set_variables({**self._python_s, **wish.variables})
        first = len(sys.orig_argv) - len(sys.argv) + 1
        sys.orig_argv[first:] = wish.arguments
        sys.argv[1:] = wish.arguments
        _reseed()
        learn_rank()
        for each in self._output:
            each.repeat()
        wish.close()


class _Capture:
    """Keeps what imports write to a stream, so that each rank can say it, too."""

    def __init__(self, number):
        self._number = number
        self._kept = os.memfd_create("hpc-warm")
        os.set_inheritable(self._kept, False)
        self._stream = os.dup(number)
        os.dup2(self._kept, number)

    def end(self):
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(self._stream, self._number)
        os.close(self._stream)

    def repeat(self):
        os.lseek(self._kept, 0, os.SEEK_SET)
        text = os.read(self._kept, 1 << 20)
        while text:
            text = text[os.write(self._number, text):]
        os.close(self._kept)


def _open_files():
    found = set()
    for each in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink("/proc/self/fd/" + each))
        except OSError:
            pass
    return found


def _show_nothing(*_, **__):
    pass


def _oom_score(score):
    """Sets it, and returns what it was."""
    with open("/proc/self/oom_score_adj", "r+") as file:
        before = file.read().strip()
        file.seek(0)
        file.write(score)
    return before


def _threads():
    return len(os.listdir("/proc/self/task"))


def _threads_after_a_fork():
    """Some libraries end their threads when their process is copied, and start them when needed."""
    copy = os.fork()
    if copy == 0:
        os._exit(0)
    os.waitpid(copy, 0)
    return _threads()


def _version(path):
    try:
        info = os.stat(path)
    except OSError:
        return None
    return (info.st_mtime_ns, info.st_size, info.st_ino)


def _files_of_modules():
    """What was imported, and where packages come from: a new one may hide one of these."""
    files = {sys.executable}
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str):
            files.add(path)
    for folder in sys.path:
        files.add(folder)
        try:
            files.update(os.path.join(folder, each) for each in os.listdir(folder)
                         if each.endswith(".pth"))
        except OSError:
            pass
    return files


def _variables_of_python():
    """Those that the interpreter itself has set at its start, as LC_CTYPE."""
    with open("/proc/self/environ", "rb") as file:
        given = {each.partition(b"=")[0] for each in file.read().split(b"\0")}
    return {name: value for name, value in os.environb.items() if name not in given}


def _beside_program():
    """Where a module of the user's would hide one that was imported."""
    words = sys.orig_argv
    first = len(words) - len(sys.argv)
    in_folder = sys.argv[0] in ("-c", "-m")
    folder = os.getcwd() if in_folder else os.path.dirname(os.path.realpath(words[first]))
    tops = {each.partition(".")[0] for each in sys.modules}
    return [os.path.join(folder, top + end) for top in tops for end in ("", ".py")]


def _set_variables(variables):
    for name in list(os.environb):
        if name not in variables:
            del os.environb[name]
    for name, value in variables.items():
        if os.environb.get(name) != value:
            os.environb[name] = value


def _reseed():
    # random and the rest of the standard library see to that themselves.
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.seed()
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.current_process().authkey = os.urandom(32)


def _imports_of_program():
    """What the program and the user's own modules beside it import of installed packages."""
    read, write = os.pipe()
    finder = os.fork()
    if finder == 0:  # so that nothing of the search stays in here
        try:
            import hpc_imports

            os.write(write, hpc_imports.of_program().encode()[:60000])
        finally:
            os._exit(0)
    os.close(write)
    text = b""
    piece = os.read(read, 65536)
    while piece:
        text += piece
        piece = os.read(read, 65536)
    os.close(read)
    os.waitpid(finder, 0)
    found = []
    for line in text.decode().splitlines():
        name, _, attribute = line.partition(" ")
        found.append((name, attribute))
    return found
