"""Which lines of harness.crossing are tried: every fault that lasts, crossed with all that happens at
once, on the same PC and on others, during it and just before it."""

# What lasts: (how it begins, how it ends, for how many seconds); `it` is pc2.
AWAY = ("kill coordinator", "start coordinator", (0.5, 2, 8))
FROZEN = ("freeze coordinator", "thaw coordinator", (1, 5.5))
LOCKED = ("lock database {}", None, (0.3, 1.5))
MASTER_CUT = ("unplug master", "plug master", (2, 4.6))
CUT = ("unplug pc2", "plug pc2", (1, 4.6, 8))
WORKER_DEAD = ("kill worker pc2", "start worker pc2", (0.3, 2, 8))
WORKER_FROZEN = ("freeze worker pc2", "thaw worker pc2", (1, 4.6, 8))
OF_THE_MASTER = (AWAY, FROZEN, LOCKED, MASTER_CUT)
OF_A_PC = (CUT, WORKER_DEAD, WORKER_FROZEN)
ANSWERING = (LOCKED, MASTER_CUT, *OF_A_PC)  # the coordinator answers meanwhile

# What happens at once, or lasts for a while of its own. An owner's command goes to his worker, which
# must be there to answer.
ON_A_PC = ("kill supervisor {}", "kill rank {}", "crash rank {}", "reclaim at {}",
           "reclaim at {}, 0.5, lend at {}", "unplug {}, 1, plug {}",
           "kill worker {}, 0.5, start worker {}", "freeze worker {}, 1, thaw worker {}")
BY_THE_COORDINATOR = ("reclaim {}", "sleep {}")

# How long a cable is out, or a worker stands still, where a fence and a lease end.
EDGES = (3.5, 4.2, 4.6, 5, 5.4, 5.8, 6.3)


def _lasting(fault, seconds, inner="", before=False):
    """`inner` happens in the middle of the fault, or a third of a second before it."""
    begins, ends, _ = fault
    ends = [ends] if ends else []
    if before:
        steps = [inner, "0.3", begins.format(seconds), str(seconds), *ends]
    elif inner:
        half = str(round(seconds / 2, 2))
        steps = [begins.format(seconds), half, inner, half, *ends]
    else:
        steps = [begins.format(seconds), str(seconds), *ends]
    return ", ".join(steps)


def _can_answer(fault, inner, pc):
    """Whether whoever is asked in the middle of the fault is there to answer."""
    if fault in (WORKER_DEAD, WORKER_FROZEN) and pc == "pc2":
        return not inner.startswith(("reclaim at", "kill worker", "freeze worker"))
    if fault is CUT and pc == "pc2":
        return not inner.startswith("unplug")
    return True


def single_faults():
    for seconds in EDGES:
        for pc in ("pc1", "pc2"):
            yield f"unplug {pc}, {seconds}, plug {pc}"
            yield f"freeze worker {pc}, {seconds}, thaw worker {pc}"
            yield f"hangs: unplug {pc}, {seconds}, plug {pc}"
    for fault in OF_THE_MASTER:
        for seconds in fault[2]:
            yield _lasting(fault, seconds)
    for seconds in (1, 4.6, 8):
        for pc in ("pc2", "pc3"):
            yield f"part pc1 from {pc}, {seconds}, join pc1 to {pc}"
    for pc in ("pc1", "pc2"):
        yield f"kill supervisor {pc}"
        yield f"crash rank {pc} => costs 1"
        yield f"kill rank {pc}, 3, kill rank {pc} => costs 2"


def crossed():
    for fault in OF_THE_MASTER:
        for seconds in fault[2]:
            for inner in ON_A_PC:
                for pc in ("pc1", "pc2"):
                    yield _lasting(fault, seconds, inner.format(pc, pc))
        for inner in ON_A_PC:
            yield _lasting(fault, fault[2][-1], inner.format("pc2", "pc2"), before=True)
    for fault in OF_A_PC:
        for seconds in fault[2]:
            for inner in ON_A_PC:
                for pc in ("pc1", "pc2", "pc3"):
                    if _can_answer(fault, inner, pc):
                        yield _lasting(fault, seconds, inner.format(pc, pc))
        for inner in ON_A_PC:
            for pc in ("pc1", "pc2", "pc3"):
                costs = " => costs 1" if inner.startswith("crash") and pc != "pc2" else ""
                if _can_answer(fault, inner, pc) or not inner.startswith(("kill worker", "freeze", "unplug")):
                    yield _lasting(fault, fault[2][1], inner.format(pc, pc), before=True) + costs


def asked():
    """What people ask for through the coordinator, while something lasts."""
    for fault in ANSWERING:
        for seconds in fault[2][-2:]:
            for pc in ("pc1", "pc2"):
                for ask in BY_THE_COORDINATOR:
                    yield _lasting(fault, seconds, ask.format(pc))
            yield _lasting(fault, seconds, "cancel")
            yield _lasting(fault, seconds, "important run")
            yield _lasting(fault, seconds, "run after it")
    for ask in ("reclaim pc2", "sleep pc2", "cancel"):
        for fault in (AWAY, FROZEN, CUT, WORKER_DEAD):
            yield _lasting(fault, fault[2][0], ask, before=True)
            yield "ignores: " + _lasting(fault, fault[2][-1], ask, before=True)


def with_habits():
    """Ranks that hang without their peers, that ignore SIGTERM, and one that is done before the
    others."""
    for fault in (AWAY, FROZEN, CUT, WORKER_DEAD, WORKER_FROZEN):
        for inner in ("crash rank pc1", "kill supervisor pc3", "reclaim at pc3", "kill rank pc2"):
            yield "hangs: " + _lasting(fault, fault[2][-1], inner)
            yield "ignores: " + _lasting(fault, fault[2][1], inner)
            if not inner.startswith("kill rank"):
                # Of a PC that falls silent just afterwards nobody can tell that it was well before.
                certain = inner.startswith("crash") and fault in OF_THE_MASTER
                yield ("hangs ignores: " + _lasting(fault, fault[2][-1], inner, before=True) +
                       (" => costs 1" if certain else ""))
    for seconds in (0.5, 1.5, 2.5, 3, 4, 5, 8):
        yield f"third-ends: 1, kill coordinator, {seconds}, start coordinator, 1 => unbroken"
    for step in ("reclaim pc3", "reclaim at pc3", "sleep pc3", "kill worker pc3, 4, start worker pc3",
                 "unplug pc3, 8, plug pc3", "freeze worker pc3, 8, thaw worker pc3"):
        yield f"third-ends: 1, {step}, 1 => unbroken"
    for step in ("kill worker pc3", "unplug pc3", "reclaim at pc3"):
        yield f"third-ends: 1, kill coordinator, {step}, 8, start coordinator, 1 => unbroken"
    for step in ("kill supervisor pc2", "reclaim at pc2", "unplug pc2, 4.6, plug pc2"):
        yield f"third-ends: 1, {step}, 1"


# In which order a PC that goes down tells ranks, supervisor and worker (harness/crossing.py).
DOWN = ("rsw", "wsr", "r-s-w", "s-r-w", "w-r-s", "w-s-r", "r_w", "w_r_s")


def going_down():
    for order in DOWN:
        down = f"down {order} pc2"
        yield down
        yield f"{down}, 0.5, boot pc2"
        yield f"alone: {down}, 0.5, boot pc2"
        yield f"alone: {down}, 1, start worker pc2"
        yield f"kill coordinator, {down}, 1, start worker pc2, 0.5, start coordinator"
        yield f"kill coordinator, {down}, 1, boot pc2, 0.5, start coordinator"
        yield f"alone: kill coordinator, {down}, 1, boot pc2, 0.5, start coordinator"
        yield f"unplug pc2, 0.3, {down}, 0.5, start worker pc2, plug pc2"
        yield f"unplug pc2, 0.3, {down}, 0.5, boot pc2, plug pc2"
        for habit in ("exit0term", "exit4term", "exit75term"):
            yield f"{habit}: {down}, 0.5, boot pc2"
            # Nobody can tell the success of an only rank from an answer whose SIGTERM only the
            # worker gets.
            if habit == "exit0term" and order in ("r_w", "w_r_s", "w-r-s"):
                continue
            yield f"alone {habit}: {down}, 0.5, boot pc2"
            yield f"alone {habit}: kill coordinator, {down}, 1, start worker pc2, start coordinator"
    for habit in ("", "exit4term: "):
        for own in ("fail rank pc2", "crash rank pc2"):
            yield f"{habit}{own} => costs 1"
            yield f"{habit}{own}, 1.5, kill worker pc2, 0.3, start worker pc2 => costs 1"
    for order in ("r-s-w", "s-r-w"):
        for habit in ("raises", "sigwait0", "owns", "crashes"):
            yield f"{habit}: down {order} pc2, 1, boot pc2"
            yield f"alone {habit}: down {order} pc2, 1, boot pc2"
    for order in ("r_s-w", "r_w"):  # the only word of its PC that a rank got
        for habit in ("owns", "says", "silent"):
            yield f"{habit} exit0term: down {order} pc2, 1, boot pc2"
        for answer in ("exit1term", "exit4term"):
            yield f"owns {answer}: down {order} pc2, 1, boot pc2"
            yield f"silent {answer}: down {order} pc2, 1, boot pc2"
        for code in (0, 143):
            yield f"silent late{code}term: down {order} pc2, 1, boot pc2"
    yield "owns exit0term: kill coordinator, down r_s-w pc2, 1, boot pc2, start coordinator"
    for order in ("r-s-w", "r_s-w"):  # also the coordinator goes down, just afterwards
        for size in ("", "alone "):
            yield f"{size}exit4term: down {order} pc2, kill coordinator, 2, boot pc2, start coordinator"
            yield f"{size}exit4term: down {order} pc2, restart coordinator, 2, boot pc2"


# The worker of rank 0 is started again, and the rendezvous store is gone with the one before.
STORE_GONE = "kill worker pc1, 0.3, start worker pc1"


def without_the_store():
    for own in ("crash rank", "fail rank", "kill rank"):
        for pc in ("pc1", "pc2"):
            yield f"store: {STORE_GONE}, 5, {own} {pc} => costs 1"
            yield f"hangs ignores store patient: {own} {pc}, 5, {STORE_GONE} => costs 1"
    yield f"store: {STORE_GONE}, 3, unplug pc2, 4.6, plug pc2"
    yield f"store: {STORE_GONE}, 3, kill supervisor pc2"
    yield f"store: {STORE_GONE}, 3, restart coordinator, 5, crash rank pc2 => costs 1"


def impatient():
    """Cables that are out for less than a lease, and programs that wait for less."""
    for seconds in (2.3, 3):
        yield f"impatient: unplug pc2, {seconds}, plug pc2"
        yield f"impatient: part pc1 from pc2, {seconds}, join pc1 to pc2"
        yield f"impatient: kill coordinator, unplug pc2, {seconds}, plug pc2, 1, start coordinator"
        yield f"impatient: kill coordinator, unplug pc2, {seconds}, start coordinator, plug pc2"
        yield f"impatient: unplug pc2, 1, restart coordinator, {seconds}, plug pc2"
        yield f"impatient: unplug pc2, {seconds}, plug pc2, restart coordinator"
        yield f"impatient: freeze coordinator, unplug pc2, {seconds}, plug pc2, thaw coordinator"
        yield (f"impatient: kill coordinator, part pc1 from pc2, {seconds}, join pc1 to pc2, "
               "start coordinator")
    yield "impatient owns: unplug pc2, 3, plug pc2"
    yield "impatient owns: part pc1 from pc2, 3, join pc1 to pc2"
    for own in ("crash rank pc2", "fail rank pc2", "kill rank pc2"):
        yield f"impatient: {own} => costs 1"
        yield f"impatient owns: {own} => costs 1"
        yield f"impatient: {own}, 3, unplug pc2, 3, plug pc2 => costs 1"


def long_stops():
    """Something is lost while ranks take their time to end, and the coordinator is another one."""
    for own in ("crash rank pc2", "fail rank pc2"):
        yield (f"hangs ignores patient: {own}, 6, kill supervisor pc1, kill worker pc1, 0.3, "
               "start worker pc1 => costs 1")
    for fault in ("unplug pc2, 8, plug pc2", "kill worker pc2, 5, start worker pc2", "reclaim at pc2"):
        for wait in (2.5, 5):
            yield (f"hangs ignores patient: crash rank pc1, {wait}, restart coordinator, 0.5, {fault} "
                   "=> costs 1")


def promises_of_owner_and_power():
    for ask in ("reclaim pc2", "reclaim at pc2"):
        yield f"ignores: sleep pc2, 0.5, {ask}, 6 => pc2 stays on"
        yield f"{ask} => free"
    yield "fixed: sleep pc2, 1.5, kill coordinator, 0.5, start coordinator, 6 => pc2 sleeps on"
    yield "fixed: sleep pc2, 6 => pc2 sleeps on"
    yield "reclaim for 2s at pc2, 4 => free"
    for pc in ("pc1", "pc2"):
        yield f"kill coordinator, reclaim for 2s at {pc}, 4, start coordinator, 1 => free"
        yield f"kill coordinator, reclaim at {pc}, 1, lend at {pc}, 1, start coordinator, 1 => free"
        yield f"kill coordinator, reclaim at {pc}, 2, start coordinator, 1 => free"
        yield (f"kill coordinator, reclaim at {pc}, kill worker {pc}, 1, start worker {pc}, "
               "start coordinator, 2 => free")
    yield "kill worker pc2, reclaim pc2, 1, start worker pc2, 1.5 => free"
    yield "reclaim at pc2, kill worker pc2, 0.3, start worker pc2, 2 => free"
    yield "unplug pc2, reclaim at pc2, 3, plug pc2"
    yield "unplug master, reclaim at pc2, 2, plug master => free"
    yield "unplug pc2, kill coordinator, reclaim at pc2, 2, plug pc2, start coordinator"


def after_a_doubt():
    """A node was silent and is back. What its peers then do not hear of each other excuses nothing."""
    for own in ("crash rank pc3", "fail rank pc3"):
        for pc in ("pc1", "pc2"):
            for wait in (0.5, 2):
                yield f"kill worker {pc}, 0.3, start worker {pc}, {wait}, {own} => costs 1"
        yield f"unplug pc2, 3, plug pc2, 2, {own} => costs 1"
        yield f"freeze worker pc2, 4, thaw worker pc2, 2, {own} => costs 1"
    for end in ("join pc1 to pc2, restart coordinator", "restart coordinator, join pc1 to pc2"):
        yield f"impatient hangs: part pc1 from pc2, 2.3, {end}"


def slow_ends():
    """Between an exception and the end of its rank, or long after it, much may happen."""
    for cut in ("unplug pc2, 3, plug pc2", "part pc1 from pc2, 3, join pc1 to pc2"):
        yield f"impatient hangs printed: {cut}"
        yield f"impatient owns lingers: {cut}"
    for cut in ("unplug pc2, 2.4, plug pc2", "part pc1 from pc2, 2.4, join pc1 to pc2"):
        yield f"impatient in-own-words owns: {cut}"
        yield f"impatient in-own-words owns tidies: {cut}"
    for habits in ("tidies", "owns tidies", "silent", "asks75"):
        yield f"{habits}: fail rank pc3 => costs 1"
        yield f"{habits}: fail rank pc2, 6, unplug pc1, 3, plug pc1 => costs 1"
    yield "asks75: crash rank pc2 => costs 1"
    for habits in ("says", "silent"):
        for order in ("r_s-w", "r-s-w"):
            yield f"{habits}: caught at pc1, 1, down {order} pc2, 1, boot pc2"
        yield f"{habits}: caught at pc1, 1, kill supervisor pc2"
    yield "impatient says: caught at pc1, 0.7, unplug pc2, 4, plug pc2"
    yield "impatient says: caught at pc1, 0.7, unplug pc1, 3, plug pc1"
    for fault in ("reclaim at pc2", "kill supervisor pc2", "unplug pc2, 4.6, plug pc2"):
        yield f"silent: {fault}"
        yield f"owns tidies: {fault}"


def all_lines():
    """Each once, in an order that does not change."""
    return list(dict.fromkeys([
        *single_faults(), *crossed(), *asked(), *with_habits(), *promises_of_owner_and_power(),
        *going_down(), *without_the_store(), *impatient(), *long_stops(), *after_a_doubt(),
        *slow_ends()]))
