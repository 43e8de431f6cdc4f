"""The second start of a command: its ranks are copies of a process that has imported their modules."""

import pathlib
import unittest

from harness import account
from harness.cluster import ClusterTest
from harness.process import eventually


@unittest.skipUnless(account.serves_twice(), "no supervisor serves a second attempt here")
class WarmTest(ClusterTest):
    options = {"nodes": 2}

    def parents(self):
        """The states of the processes of this cluster that wait to be copied."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                variables = (folder / "environ").read_text().split("\0")
                if {"HPC_WARM_SOCKET=3", f"HOME={self.cluster.dir}"} <= set(variables):
                    found.append((folder / "stat").read_text().rsplit(") ", 1)[1].split()[0])
            except (OSError, UnicodeDecodeError):
                pass
        return [state for state in found if state != "Z"]

    def run_once(self, *words, check=True):
        """The account of the tests has no home: each attempt would have one of its own."""
        return self.cluster.hpcctl("run", "--env", f"HOME={self.cluster.dir}", *words, check=check)

    def run_warm(self, *words):
        """Runs it until its ranks were copies, since importing takes a moment. Returns what it said."""
        for _ in range(10):
            said = self.run_once(*words).stdout
            run = self.cluster.json("runs", "--limit", 1)[0]["id"]
            eventually(lambda: None not in self.cluster.starts(run).values(),
                       "it is told how the ranks were started")
            if set(self.cluster.starts(run).values()) == {"warm"}:
                return said
            eventually(lambda: "S" in self.parents(), "somebody waits to be copied")
        self.fail(self.cluster.starts(run))

    def test_a_command_that_is_run_again_starts_warm(self):
        script = self.cluster.script("again.py", "import json, os, sys\n"
                                                 "print(__name__, sys.argv[1:], os.environ['RANK'])\n")
        words = ["-N", 2, "--label", "--", "python3", script]
        cold = self.run_once(*words, "--lr", 1).stdout
        warm = self.run_warm(*words, "--lr", 2)
        self.assertEqual(sorted(warm.splitlines()),
                         sorted(cold.replace("'1'", "'2'").splitlines()))
        self.assertIn("start=warm", self.cluster.hpcctl("show", "last").stdout)

    def test_what_a_copy_ends_with_is_what_it_would_have_ended_with(self):
        script = self.cluster.script("ends.py", "import sys\nsys.exit(int(sys.argv[1]))\n")
        self.run_warm("--", "python3", script, 0)
        failed = self.run_once("--", "python3", script, 7, check=False)
        self.assertEqual(failed.returncode, 7)

    def test_a_script_of_that_name_is_no_python(self):
        script = self.cluster.script("python3", "#!/bin/sh\necho ran >> ran\nexec /usr/bin/python3 \"$@\"\n")
        for _ in range(2):
            self.run_once("--workdir", self.cluster.dir, "--", script, "-c", "print('up')")
        run = self.cluster.json("runs", "--limit", 1)[0]["id"]
        eventually(lambda: self.cluster.starts(run), "its environment is told")
        self.assertEqual(set(self.cluster.starts(run).values()), {None})
        self.assertEqual((self.cluster.dir / "ran").read_text(), "ran\nran\n")

    def test_a_run_may_do_without(self):
        script = self.cluster.script("without.py", "import json\n")
        self.run_warm("--", "python3", script)
        self.run_once("--warm", "off", "--", "python3", script)
        run = self.cluster.json("runs", "--limit", 1)[0]["id"]
        eventually(lambda: self.cluster.starts(run), "its environment is told")
        self.assertEqual(set(self.cluster.starts(run).values()), {None})

    def test_a_restart_is_warm(self):
        script = self.cluster.script("restarts.py", (
            "import os, sys\n"
            "sys.exit(os.environ['HPC_RESTART_COUNT'] == '0')\n"))
        self.run_once("--max-restarts", 1, "--", "python3", script)
        run = self.cluster.json("runs", "--limit", 1)[0]["id"]
        self.assertEqual([start for (attempt, _), start in self.cluster.starts(run).items() if attempt == 2],
                         ["warm"])

    def test_the_owner_has_all_of_the_memory(self):
        script = self.cluster.script("owner.py", "import json\n")
        self.run_warm("-N", 2, "--", "python3", script)
        self.assertNotEqual(self.parents(), [])
        for name in ("pc1", "pc2"):
            self.cluster.hpcctl("reclaim", name)
        eventually(lambda: self.parents() == [], "nothing is kept on PCs that their owners have")
        for name in ("pc1", "pc2"):
            self.cluster.hpcctl("lend", name)
        self.run_warm("-N", 2, "--", "python3", script)


if __name__ == "__main__":
    unittest.main()
