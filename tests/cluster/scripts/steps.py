"""A rank that does nothing but count steps, and writes down each of them where no daemon looks.

    steps.py FOLDER PERIOD [HABIT ...]

FOLDER/starts has one line for each start of a rank; FOLDER/RUN.ATTEMPT.RANK begins with "start AT"
and has "STEP AT" for each step that was logged, printed and recorded before (AT: monotonic seconds).
Rank 0 keeps a checkpoint; it ends when FOLDER/done is there. The ranks hold connections to rank 0 as
those of a training do, and fail at once when one is closed. SIGUSR1 makes a rank fail by an error of
its own, SIGUSR2 prints an exception that it has caught.

    HABIT        what the ranks do otherwise
    hangs        a rank that has lost a peer waits for ever, as under NCCL
    ignores      SIGTERM does not end a rank, so that its grace runs out
    third-ends   rank 2 is done after six steps and exits with 0, and the others go on
    exit0term    a rank answers SIGTERM with exit code 0; exit4term and exit75term: with another
    late0term    the same, and it has closed its connections 0.3 s before
    raises       a rank answers SIGTERM with an exception
    sigwait0     a thread waits for SIGTERM, which is blocked, and ends the rank with 0
    owns         a rank that has lost a peer fails in words of its own
    crashes      a rank that has lost a peer dies of SIGSEGV
    silent       a rank that has lost a peer ends with 1 and says nothing
    says         a rank that has lost a peer says so on stdout, and ends with 1
    asks75       a rank that has lost a peer asks for a restart 0.7 s later, with exit code 75
    impatient    a rank that hears nothing of a peer for 2 s gives up, in the words of gloo
    in-own-words ... or in words of its own
    tidies       after an exception a rank takes another second to end, as for a tracker's upload
    lingers      after an exception a thread keeps the rank for half a minute
    printed      rank 2 prints an exception when it starts, which it has caught
    store        a rank comes to the rendezvous store, and never needs it again
"""

import atexit
import os
import re
import select
import signal
import socket
import struct
import sys
import threading
import time
import traceback

import hpc


class Steps:
    def __init__(self, folder):
        begin = time.monotonic()
        self.folder = folder
        run, self.attempt, self.rank = (
            os.environ[name] for name in ("HPC_RUN_ID", "HPC_ATTEMPT", "RANK"))
        os.close(self._note("starts", f"{run} {self.attempt} {self.rank} "
                            f"{os.environ['WORLD_SIZE']} {os.environ['HPC_NODE']} {os.getpid()}"))
        self._journal = self._note(f"{run}.{self.attempt}.{self.rank}", f"start {begin:.6f}")

    def _note(self, name, line):
        file = os.open(os.path.join(self.folder, name),
                       os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(file, (line + "\n").encode())
        return file

    def done(self):
        return os.path.exists(os.path.join(self.folder, "done"))

    def load(self):
        """The step of the checkpoint."""
        try:
            with open(os.path.join(self.folder, "checkpoint")) as file:
                return int(file.read())
        except FileNotFoundError:
            return 0

    def made(self, step):
        hpc.log(step=step, progress=step)
        os.write(1, f"attempt {self.attempt} rank {self.rank} step {step}\n".encode())
        os.write(self._journal, f"{step} {time.monotonic():.6f}\n".encode())
        if self.rank == "0" and step % 5 == 0:
            self._save(step)

    def _save(self, step):
        path = os.path.join(self.folder, "checkpoint")
        part = f"{path}.{self.attempt}"
        with open(part, "w") as file:
            file.write(str(step))
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        hpc.checkpoint_saved(step)


class Bond:
    """The connections of a rank to its peers: rank 0 has one to each other rank."""

    def __init__(self, folder):
        run, attempt, rank, size, master = (os.environ[name] for name in (
            "HPC_RUN_ID", "HPC_ATTEMPT", "RANK", "WORLD_SIZE", "MASTER_ADDR"))
        path = os.path.join(folder, f"bond.{run}.{attempt}")
        if rank == "0":
            self._peers = self._accept(path, int(size) - 1)
        else:
            self._peers = [self._connect(path, master)]
        now = time.monotonic()
        self._heard = {peer: now for peer in self._peers}

    @staticmethod
    def _accept(path, count):
        with socket.create_server(("", 0), backlog=count + 1) as door:
            with open(path + ".part", "w") as file:
                file.write(str(door.getsockname()[1]))
            os.rename(path + ".part", path)
            return [door.accept()[0] for _ in range(count)]

    @staticmethod
    def _connect(path, master):
        while True:
            try:
                with open(path) as file:
                    return socket.create_connection((master, int(file.read())))
            except OSError:
                time.sleep(0.05)  # rank 0 is not there yet, or cannot be reached now

    def holds(self, seconds):
        """Waits for so long, and returns whether all peers are still there or have said goodbye."""
        end = time.monotonic() + seconds
        while said := select.select(self._peers, [], [], max(0, end - time.monotonic()))[0]:
            for peer in said:
                words = self._read(peer)
                if not words:
                    return False
                self._heard[peer] = time.monotonic()
                if b"x" in words:
                    self._peers.remove(peer)
        return True

    @staticmethod
    def _read(peer):
        try:
            return peer.recv(1024)
        except OSError:
            return b""

    def silence(self):
        """For how long a peer has said nothing."""
        return time.monotonic() - min([self._heard[peer] for peer in self._peers],
                                      default=time.monotonic())

    def say_hello(self):
        self._say(b".")

    def close(self):
        for peer in self._peers:
            peer.close()

    def say_goodbye(self):
        self._say(b"x")

    def _say(self, words):
        for peer in self._peers:
            try:
                peer.send(words, socket.MSG_DONTWAIT)
            except OSError:
                pass  # what is read of it tells


def come_to_the_store():
    """Says what a client of torch says first (docs/RENDEZVOUS.md)."""
    client = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
    client.sendall(struct.pack("<BI", 0, 0x3C85F7CE) + struct.pack("<BI", 13, os.getpid()))
    client.recv(4)
    return client


def fail(*_):
    if "lingers" in sys.argv:
        threading.Thread(target=time.sleep, args=(30,)).start()
    if "tidies" in sys.argv:
        atexit.register(time.sleep, 1)
    raise ValueError("no data for batch 7")


def print_what_was_caught(*_):
    try:
        raise ValueError("could not upload metrics, trying again later")
    except ValueError:
        traceback.print_exc()


def wait_for_sigterm():
    signal.sigwait({signal.SIGTERM})
    os._exit(0)


def end_late(bonds, code):
    for bond in bonds:
        bond.close()
    time.sleep(0.3)
    os._exit(code)


def answer_signals(habits, bonds):
    signal.signal(signal.SIGUSR1, fail)
    signal.signal(signal.SIGUSR2, print_what_was_caught)
    if "raises" in habits:
        signal.signal(signal.SIGTERM, fail)
    if "sigwait0" in habits:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=wait_for_sigterm, daemon=True).start()
    for habit in habits:
        if habit == "ignores":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if code := re.fullmatch(r"exit(\d+)term", habit):
            signal.signal(signal.SIGTERM, lambda *_, code=int(code[1]): sys.exit(code))
        if code := re.fullmatch(r"late(\d+)term", habit):
            signal.signal(signal.SIGTERM, lambda *_, code=int(code[1]): end_late(bonds, code))


def lost_a_peer(habits):
    while "hangs" in habits:
        time.sleep(1)
    if "asks75" in habits:
        time.sleep(0.7)
        os._exit(75)
    if "silent" in habits:
        os._exit(1)
    if "says" in habits:
        print("lost a peer", flush=True)
        sys.exit(1)
    if "owns" in habits:
        fail()
    if "crashes" in habits:
        os.kill(os.getpid(), signal.SIGSEGV)
    sys.exit("Connection closed by peer")


def main():
    folder, period, habits = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    bonds = []
    answer_signals(habits, bonds)
    steps = Steps(folder)
    if "printed" in habits and steps.rank == "2":
        print_what_was_caught()
    store = come_to_the_store() if "store" in habits else None  # kept open
    bond = Bond(folder)
    bonds.append(bond)
    step = first = steps.load()
    while not steps.done():
        step += 1
        steps.made(step)
        if "third-ends" in habits and steps.rank == "2" and step == first + 6:
            bond.say_goodbye()
            return
        if "impatient" in habits:
            bond.say_hello()
        if not bond.holds(period) and not steps.done():
            lost_a_peer(habits)
        if "impatient" in habits and bond.silence() > 2 and not steps.done():
            if "in-own-words" in habits:
                fail()
            sys.exit("RuntimeError: [gloo] Timed out waiting 2000ms for recv operation to complete")
    del store


if __name__ == "__main__":
    main()
