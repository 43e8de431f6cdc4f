"""kills_test with real torch ranks."""

import unittest

from harness.cluster import PYTHON
from kills_test import campaign


@unittest.skipUnless(PYTHON, "HPC_TEST_PYTHON names no Python with torch")
class TorchKillsTest(unittest.TestCase):
    def test_ranks_that_average_gradients_go_on_too(self):
        campaign(6, lease=4, nodes=3, script="ddp_steps.py", kinds=(
            "coordinator killed", "worker killed", "supervisor killed", "rank killed", "cable out",
            "power lost"))


if __name__ == "__main__":
    unittest.main()
