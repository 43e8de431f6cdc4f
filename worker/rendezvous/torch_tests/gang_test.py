"""A gang of four real ranks over our store, one of which comes late."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import store_tool

store_tool.use_python_with_torch()

WORLD = 4
LATE = 2
RANK_PROGRAM = pathlib.Path(__file__).with_name("gang_rank.py")


class GangTest(unittest.TestCase):

    def setUp(self):
        self.server = store_tool.StoreServer(sys.argv[1])
        self.addCleanup(self.server.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.ranks = {}

    def start(self, rank):
        environment = dict(
            os.environ, RANK=str(rank), LOCAL_RANK="0", WORLD_SIZE=str(WORLD),
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(self.server.port),
            TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT="0",
            GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1", TORCH_CPP_LOG_LEVEL="ERROR")
        process = subprocess.Popen(
            [sys.executable, RANK_PROGRAM, self.folder / "checkpoint"], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.ranks[rank] = process
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)

    def pids(self):
        return {("127.0.0.1", process.pid) for process in self.ranks.values()}

    def status_when(self, condition):
        deadline = time.monotonic() + 90
        while not condition(status := self.server.status()):
            self.assertLess(time.monotonic(), deadline, status)
            for rank, process in self.ranks.items():
                self.assertIsNone(process.poll(), f"rank {rank} has ended")
            time.sleep(0.05)
        return status

    def test_a_gang_trains_and_the_late_rank_is_named(self):
        for rank in range(WORLD):
            if rank != LATE:
                self.start(rank)
        status = self.status_when(lambda s: s["waiting"] == WORLD - 1)
        self.assertEqual(status["blocked_key"], f"/default_pg/0//cpu//0/{LATE}")
        self.assertEqual(set(status["arrivals"]), self.pids())
        self.start(LATE)
        for rank, process in self.ranks.items():
            out, err = process.communicate(timeout=150)
            self.assertEqual((process.returncode, out), (0, "done\n"), f"rank {rank}:\n{err}")
        status = self.status_when(lambda s: s["connections"] == 0)
        self.assertEqual(set(status["arrivals"]), self.pids())
        self.assertEqual(status["blocked_key"], "")
        self.assertEqual(status["refused"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
