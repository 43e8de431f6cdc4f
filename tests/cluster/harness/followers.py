"""People who watch from the beginning to the end, whatever dies in between."""

import json


class Followers:
    """`hpcctl logs -f` of one run, and `hpcctl events -f`."""

    def __init__(self, cluster, run):
        self.cluster = cluster
        self.run = run
        self._output = cluster.start("logs", run, "-f", "--no-label", "--stdout-only", name="follower")
        self._events = cluster.start("events", "-f", "--after", 0, "--json", name="events")

    def check(self, patience):
        """What is wrong with what they saw, now that the run is over."""
        wrong = []
        code = self._output.wait(patience)
        stored = self.cluster.hpcctl("logs", self.run, "--no-label", "--stdout-only").stdout
        # The client's own messages are on stderr, which goes to the same file.
        seen = "".join(line for line in self._output.output().splitlines(keepends=True)
                       if not line.startswith("hpcctl: "))
        if code != 0 or seen != stored:
            wrong.append(f"hpcctl logs -f ended with {code}; it showed {len(seen)} characters of "
                         f"{len(stored)}{_difference(seen, stored)}")
        last = self.cluster.sql("SELECT max(id) AS last FROM events")[0]["last"]
        self._events.terminate(patience)
        ids = [json.loads(line)["id"] for line in self._events.output().splitlines()
               if line.startswith("{")]
        # The newest events may still have been on their way.
        if ids != list(range(1, len(ids) + 1)) or len(ids) < last - 50:
            wrong.append(f"hpcctl events -f showed {len(ids)} of {last} events"
                         f"{_difference(ids, list(range(1, last + 1)))}")
        return wrong


def _difference(seen, stored):
    for index, (a, b) in enumerate(zip(seen, stored)):
        if a != b:
            return (f"; the first difference is at {index}: {seen[index:index + 60]!r} for "
                    f"{stored[index:index + 60]!r}")
    return ""
