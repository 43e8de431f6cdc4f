"""A gang trains on while its daemons are killed, cables pulled and PCs turned off at random.

    HPC_KILL_SEED=7 HPC_KILLS=300 python3 -m unittest -v kills_test

repeats what chance has chosen, as far as real processes can, and lengthens it. bench/kills.py is the
long form, with figures.
"""

import os
import random
import unittest

from harness.campaign import run_campaign


def campaign(kills, **options):
    seed = int(os.environ.get("HPC_KILL_SEED", random.randrange(1_000_000)))
    kills = int(os.environ.get("HPC_KILLS", kills))
    print(f"HPC_KILL_SEED={seed} HPC_KILLS={kills}", flush=True)
    run_campaign(kills, seed, **options)


class KillsTest(unittest.TestCase):
    def test_nothing_acknowledged_is_lost_and_the_gang_goes_on(self):
        campaign(20, lease=2)


if __name__ == "__main__":
    unittest.main()
