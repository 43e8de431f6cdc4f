"""A gang that loses a node without a word runs again on a spare as soon as the lease is over, and not
before the ranks there are dead; a coordinator that is away hurts nobody."""

import signal
import time
import unittest

from harness.beats import Beats
from harness.cluster import ClusterTest
from harness.process import eventually

LEASE = 6
# Beyond the lease, and the second after it: time for a busy machine.
SLACK = 4


class SilenceTest(ClusterTest):
    options = {"nodes": 4, "network": True}

    def setUp(self):
        for name in self.cluster.names:
            eventually(lambda: self.cluster.node(name)["state"] == "idle", f"{name} is idle", 30)
        self.beats = Beats(self.cluster, 3)

    def tearDown(self):
        self.beats.end()

    def runs_elsewhere(self, lost, since):
        began = self.beats.wait_began(1)
        self.assertNotIn(lost, self.beats.where())
        self.assertLess(self.beats.last_alive(0), self.beats.first_began(1),
                        "a rank of the attempt before was alive")
        self.assertLess(began - since, LEASE + 1 + SLACK)

    def pull_the_cable_of(self, rank):
        lost = self.beats.where()[rank]
        since = time.time()
        self.cluster.network.cable(lost, up=False)
        try:
            self.runs_elsewhere(lost, since)
        finally:
            self.cluster.network.cable(lost, up=True)

    def test_a_cable_is_pulled(self):
        self.pull_the_cable_of(2)

    def test_the_cable_of_the_node_that_the_others_ask_is_pulled(self):
        self.pull_the_cable_of(0)

    def test_a_node_that_only_the_coordinator_does_not_hear(self):
        lost = self.beats.where()[1]
        since = time.time()
        self.cluster.network.part(lost, "master")
        try:
            self.runs_elsewhere(lost, since)
        finally:
            self.cluster.network.part(lost, "master", apart=False)

    def test_a_worker_that_stands_still(self):
        lost = self.beats.where()[1]
        worker = self.cluster.workers[lost]
        since = time.time()
        worker.signal(signal.SIGSTOP)
        try:
            self.runs_elsewhere(lost, since)
        finally:
            worker.signal(signal.SIGCONT)

    def test_a_coordinator_that_is_away_hurts_nobody(self):
        self.cluster.coordinator.kill()
        time.sleep(10)
        self.assertGreater(self.beats.last_alive(0), time.time() - 1)
        self.cluster.start_coordinator()
        time.sleep(4)
        self.assertEqual(self.cluster.run_state(self.beats.run), "running")
        self.assertFalse(list(self.beats.dir.glob("began.1.*")))

    def test_nor_does_one_that_is_away_from_a_gang_whose_workers_were_started_anew(self):
        for name in self.beats.where():
            self.cluster.workers[name].kill()
            self.cluster.start_worker(name)
        eventually(lambda: self.cluster.json("status")["nodes_connected"] == 4, "all are back", 10)
        self.test_a_coordinator_that_is_away_hurts_nobody()


if __name__ == "__main__":
    unittest.main()
