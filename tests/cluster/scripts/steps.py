"""A rank that does nothing but count steps, and writes down each of them where no daemon looks.

    steps.py FOLDER PERIOD

FOLDER/starts has one line for each start of a rank; FOLDER/RUN.ATTEMPT.RANK begins with "start AT"
and has "STEP AT" for each step that was logged, printed and recorded before (AT: monotonic seconds).
Rank 0 keeps a checkpoint; it ends when FOLDER/done is there.
"""

import os
import sys
import time

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


def main():
    steps = Steps(sys.argv[1])
    step = steps.load()
    while not steps.done():
        step += 1
        steps.made(step)
        time.sleep(float(sys.argv[2]))


if __name__ == "__main__":
    main()
