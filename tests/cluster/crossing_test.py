"""A run pays for its own failures and for nothing else, in whatever order things are heard.

crossings.py is the long form, with some nine hundred lines.
"""

import pathlib
import tempfile
import unittest

import crossings
from harness.network import Network

LINES = (
    "unplug pc2, 4.6, plug pc2",
    "freeze worker pc2, 5, thaw worker pc2",
    "kill coordinator, kill supervisor pc2, 1, start coordinator",
    "kill coordinator, reclaim at pc1, 1, start coordinator => free",
    "hangs ignores: crash rank pc1, 0.3, kill coordinator, 8, start coordinator => costs 1",
    "third-ends: 1, kill coordinator, 3, start coordinator, 1 => unbroken",
)


class CrossingTest(unittest.TestCase):
    @unittest.skipIf(Network.available(), Network.available())
    def test_what_crosses_a_failure_neither_adds_to_its_price_nor_takes_from_it(self):
        stories = pathlib.Path(tempfile.mkdtemp(prefix="hpc-crossings-"))
        wrong = crossings.run_all(dict(enumerate(LINES)), len(LINES), stories)
        self.assertEqual([], [(stories / f"{number}.txt").read_text() for number in wrong])


if __name__ == "__main__":
    unittest.main()
