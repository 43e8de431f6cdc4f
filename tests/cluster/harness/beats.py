"""Ranks that leave traces: when each began, and when it was last alive."""

from .process import eventually

# A shell script, so that the start of an interpreter is not part of what is measured.
SCRIPT = """#!/bin/sh
: > "$1/began.$HPC_RESTART_COUNT.$RANK"
while :; do : > "$1/alive.$HPC_RESTART_COUNT.$RANK"; sleep 0.02; done
"""


def wait_began(folder, attempt, ranks, timeout, why):
    names = [f"began.{attempt}.{rank}" for rank in range(ranks)]
    eventually(lambda: all((folder / name).exists() for name in names),
               f"attempt {attempt + 1} begins: {why}", timeout)
    return max((folder / name).stat().st_mtime for name in names)


class Beats:
    """One gang on some nodes of a cluster that has others to spare."""

    def __init__(self, cluster, nodes):
        self.cluster = cluster
        self.nodes = nodes
        self.dir = cluster.dir / "beats"
        self.dir.mkdir(exist_ok=True)
        self.dir.chmod(0o777)
        for old in self.dir.iterdir():
            old.unlink()
        self.run = cluster.submit("-N", nodes, "--", cluster.script("beats.sh", SCRIPT), self.dir)
        self.wait_began(0)
        cluster.wait_state(self.run, "running")

    def wait_began(self, attempt, timeout=40):
        """Waits for every rank of that attempt, from 0; when the last one began, on the wall clock."""
        return wait_began(self.dir, attempt, self.nodes, timeout,
                          self.cluster.json("why", self.run))

    def first_began(self, attempt):
        return min(f.stat().st_mtime for f in self.dir.glob(f"began.{attempt}.*"))

    def last_alive(self, attempt):
        """When any rank of that attempt was, for the last time so far."""
        return max(f.stat().st_mtime for f in self.dir.glob(f"alive.{attempt}.*"))

    def where(self):
        """The nodes of the newest attempt, by rank."""
        shown = self.cluster.json("show", self.run)
        newest = max(rank["attempt"] for rank in shown["ranks"])
        ranks = [rank for rank in shown["ranks"] if rank["attempt"] == newest]
        return [rank["node"] for rank in sorted(ranks, key=lambda rank: rank["rank"])]

    def end(self):
        self.cluster.hpcctl("cancel", self.run)
        self.cluster.wait_state(self.run, "cancelled")
