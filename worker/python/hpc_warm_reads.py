"""What imports ask for that a parent of ranks cannot know (hpc_warm.py)."""
import os
import sys


class Reads:
    """Notes what imports read that differs between ranks, and whether they seed random numbers.

    From its making to end() it stands in the way of os.environ, sys.argv and seed functions.
    """

    def __init__(self, of_a_rank):
        self.strange = None  # the module that read something, and what
        self._names = {name for name in of_a_rank if not name.endswith("*")}
        self._beginnings = tuple(name[:-1] for name in of_a_rank if name.endswith("*"))
        self._seeded = False
        self._class = type(os.environ)
        self._get = self._class.__getitem__
        self._argv = sys.argv
        self._random = {}
        reads = self

        def get(environ, key):
            if isinstance(key, str) and reads._is_of_a_rank(key):
                reads._note(key)
            return reads._get(environ, key)

        class Arguments(list):
            def __getitem__(self, index):
                reads._note("sys.argv")
                return list.__getitem__(self, index)

            def __iter__(self):
                reads._note("sys.argv")
                return list.__iter__(self)

        self._class.__getitem__ = get
        sys.argv = Arguments(sys.argv)

    def end(self):
        self._class.__getitem__ = self._get
        sys.argv = self._argv
        for module, seed in self._random.items():
            module.seed = seed

    def seeded(self):
        """Whether a generator was seeded since it was first seen here."""
        for name in ("random", "numpy.random"):
            module = sys.modules.get(name)
            if module is not None and module not in self._random and hasattr(module, "seed"):
                self._random[module] = module.seed
                module.seed = self._seed_noted(module.seed)
        return self._seeded

    def _is_of_a_rank(self, name):
        return name in self._names or name.startswith(self._beginnings)

    def _seed_noted(self, seed):
        def noted(*args, **kwargs):
            self._seeded = True
            return seed(*args, **kwargs)
        return noted

    def _note(self, what):
        frame = sys._getframe(2)
        while frame and frame.f_globals.get("__name__") in (
                "os", "_collections_abc", "collections.abc", "copy"):
            frame = frame.f_back
        module = frame.f_globals.get("__name__", "?") if frame else "?"
        standard = module.partition(".")[0] in sys.stdlib_module_names
        if module not in _WITH_RANK and not standard:
            self.strange = (module, what)


# Modules that take their rank_zero_only.rank from the first of these variables that is set, when
# they are imported.
_WITH_RANK = {
    "lightning.fabric.utilities.rank_zero": ("RANK", "LOCAL_RANK", "SLURM_PROCID"),
    "lightning_fabric.utilities.rank_zero": ("RANK", "LOCAL_RANK", "SLURM_PROCID"),
    "torchmetrics.utilities.prints": ("LOCAL_RANK",),
}


def learn_rank():
    """To be called in a rank that has its variables."""
    for module, names in _WITH_RANK.items():
        if module in sys.modules:
            numbers = [os.environ[name] for name in names if name in os.environ]
            sys.modules[module].rank_zero_only.rank = int(numbers[0]) if numbers else 0
