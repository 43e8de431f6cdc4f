"""What a rank may tell hpcctl, and ask it.

    import hpc
    lr = hpc.params().get("lr", 0.1)
    hpc.log(step=10, loss=0.25, accuracy=0.9)
    hpc.checkpoint_saved(step=10)

One file, standard library only. A program that is run without hpcctl works the same: log() then
does nothing and the others return what a program alone on one machine would see.
"""

import json
import math
import os
import re
import sys
import time

__all__ = ["log", "checkpoint_saved", "params", "rank", "world_size", "run_id"]

_params = None
_warned = set()  # keys of log()


def _open():
    path = os.environ.get("HPC_METRICS_FILE")
    if not path:
        return -1
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        # Metrics are no reason to end a training.
        return -1


# Opened once, without a lock that a fork could find taken. Children share it: a write to a file
# opened for appending is never split or overwritten.
_descriptor = _open()


def _number(value):
    """What JSON can hold of a number, a 0-dimensional tensor or array, or a bool."""
    if isinstance(value, (bool, int, float)):
        return value
    item = getattr(value, "item", None)
    if callable(item):
        return _number(item())
    return float(value)


def _warn(key, why):
    """Once per key, on stderr."""
    if key in _warned:
        return
    _warned.add(key)
    try:
        sys.stderr.write(f"hpc.log: '{key}' is not recorded: {why:.200}\n")
    except (AttributeError, OSError, ValueError):  # there is no stderr any more
        pass


def log(_what=None, step=None, **values):
    """Records one value per keyword, of this step if one is given, at this moment.

        hpc.log(step=10, loss=0.25)
        hpc.log({"loss": 0.25, "lr/head": 0.1}, step=10)
        hpc.log(10, loss=0.25)

    Values are numbers, or what has one (a tensor, a numpy scalar); NaN and infinities are values.
    Anything else is left out, with one warning per key: a metric is no reason to end a training.
    May be called from any thread and any forked child.
    """
    if _descriptor < 0:
        return
    record = {"time": time.time()}
    if isinstance(_what, dict):
        values = {**_what, **values}
    elif _what is not None:
        step = _what
    if step is not None:
        values["step"] = step
    for key, value in values.items():
        if key == "time":
            _warn(key, "it is the name of the moment of a record")
            continue
        try:
            record[key] = int(value) if key == "step" else _number(value)
        except Exception as error:  # whatever a foreign type's conversion may raise
            _warn(key, f"no number can be made of a {type(value).__name__} ({error})")
    if len(record) == 1:
        return
    try:
        os.write(_descriptor, (json.dumps(record) + "\n").encode())
    except OSError:
        pass


def checkpoint_saved(step=None):
    """Says that a checkpoint is whole: a restart now would lose nothing.

    A run of -N 2:4 that has fewer than four nodes is then started again on more, if more are there
    (hpcctl run --grow). Call it where the last write has been made, on one rank: if every rank saves
    a part, after a barrier. It is recorded as the metric checkpoint_saved.
    """
    log(step=step, checkpoint_saved=1)


def _value(text):
    if text in ("true", "false"):
        return text == "true"
    # Text that only looks like a number is left alone: 007, 1_000, or a commit such as 1234e567.
    if not re.fullmatch(r"[-+]?(0|[1-9][0-9]*|(?=\.[0-9]))(\.[0-9]*)?([eE][-+]?[0-9]+)?", text):
        return float(text) if text in ("inf", "-inf", "nan") else text
    if text.lstrip("+-").isdigit():
        return int(text)
    value = float(text)
    return value if math.isfinite(value) else text


def params():
    """The run's parameters (hpcctl run --param k=v): numbers, true and false as such, else text."""
    global _params
    if _params is None:
        path = os.environ.get("HPC_PARAMS_FILE")
        if path:
            with open(path, encoding="utf-8") as file:
                _params = {key: _value(text) for key, text in json.load(file).items()}
        else:
            _params = {}
    return dict(_params)


def rank():
    """This process's number in the gang, from 0."""
    return int(os.environ.get("RANK", os.environ.get("NODE_RANK", 0)))


def world_size():
    """How many processes the gang has."""
    return int(os.environ.get("WORLD_SIZE", os.environ.get("NNODES", 1)))


def run_id():
    """The run's number; None without hpcctl."""
    number = os.environ.get("HPC_RUN_ID")
    return int(number) if number else None
