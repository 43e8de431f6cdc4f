"""Runs at the start of each Python that a rank starts, before anything of the program.

It makes the interpreter the parent of a later rank if its supervisor asks for one (hpc_warm.py).
Otherwise it notes that it was here: only where that was seen is such a parent made. Then it runs
the sitecustomize that would have run without it. It must be valid in each version of Python.
"""
import os
import sys


def _note(path):
    # The first Python of a rank makes the file. Others find it there.
    try:
        note = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return
    os.write(note, ("%d\n" % os.getpid()).encode())
    os.close(note)


def _next_one():
    """Runs the sitecustomize of the next folder of sys.path that has one."""
    here = os.path.dirname(os.path.abspath(__file__))
    others = [each for each in sys.path if os.path.abspath(each) != here]
    for finder in sys.meta_path:
        if getattr(finder, "__name__", "") != "PathFinder":
            continue
        spec = finder.find_spec(__name__, others)
        if spec is None or spec.loader is None:
            return
        module = sys.modules["_frozen_importlib"].module_from_spec(spec)
        sys.modules[__name__] = module
        spec.loader.exec_module(module)


if "HPC_WARM_SOCKET" in os.environ:
    try:
        import hpc_warm

        hpc_warm.serve(int(os.environ.pop("HPC_WARM_SOCKET")))
    except BaseException:  # the program must not run in a parent
        try:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(70)
elif "HPC_PYTHON_NOTE" in os.environ:
    _path = os.environ.pop("HPC_PYTHON_NOTE")
    if hasattr(sys, "orig_argv"):  # since Python 3.10
        _note(_path)
if sys.version_info >= (3, 5):
    _next_one()
