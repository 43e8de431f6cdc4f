"""hpc-train as a run on several PCs."""

import json
import os
import subprocess
import unittest

from harness.cluster import BIN, PYTHON, ROOT, ClusterTest

PROGRAM = BIN / "hpc-train"


@unittest.skipUnless(PROGRAM.exists(), "it is built with HPC_TRAIN=ON only")
@unittest.skipUnless(PYTHON, "HPC_TEST_PYTHON names no Python with scikit-learn")
class DigitsTest(ClusterTest):
    """Four PCs, and the digits as hpc-train reads them."""
    options = {"nodes": 4, "network": True}

    def setUp(self):
        super().setUp()
        self.data = self.cluster.dir / "digits"
        subprocess.run([PYTHON, ROOT / "examples/digits_data.py", self.data], check=True,
                       stdout=subprocess.DEVNULL)
        self.cluster.dir.chmod(0o755)

    def train(self, *args, check=True):
        return self.cluster.hpcctl("run", "-N", 4, "--no-label", "--stop-grace", "5s", "--", PROGRAM,
                                   "digits", "--data", self.data, *args, timeout=120, check=check)


class HpcTrainTest(DigitsTest):
    def test_four_pcs_learn_the_digits(self):
        lines = self.train("--epochs", 10).stdout.splitlines()
        summary = json.loads(lines[-1])
        self.assertEqual(summary["ranks"], 4)
        self.assertEqual(summary["samples"], 10 * 1438)
        self.assertGreater(summary["test_accuracy"], 0.95)
        self.assertIn("epoch 10/10", lines[-2])
        run = self.cluster.json("runs")[0]
        metrics = {metric["key"] for metric in self.cluster.json("metrics", run["id"])}
        self.assertLessEqual({"loss", "test_accuracy", "data_wait_share", "samples_per_second"},
                             metrics)

    def test_data_that_are_cut_short_are_named(self):
        os.truncate(self.data / "images.npy", 5000)
        done = self.train(check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("images.npy: it is truncated", done.stderr)


@unittest.skipUnless(PROGRAM.exists(), "it is built with HPC_TRAIN=ON only")
class GangCheckTest(ClusterTest):
    options = {"nodes": 4, "network": True}

    def check(self, *args):
        return self.cluster.hpcctl("check", "--program", PROGRAM, "--largest-mib", 1,
                                   "--measure-ms", 100, *args, timeout=120, check=False)

    def test_a_pc_behind_a_slow_port_is_named(self):
        self.cluster.network.throttle("pc3", "100mbit")
        done = self.check("--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([rank["pc"] for rank in found["ranks"]], ["pc1", "pc2", "pc3", "pc4"])
        self.assertEqual([len(found["all_reduce"]), len(found["links"])], [3, 6])
        self.assertTrue(any("every link of pc3 is slow" in one and "100 Mbit/s" in one
                            for one in found["findings"]), found["findings"])

    def test_its_tables_have_all_links(self):
        out = self.check().stdout
        self.assertRegex(out, r"ALL-REDUCE +TIME +ALGORITHM +BUS +SUMS\n4.0 KiB .* exact\n")
        self.assertEqual(out.count(" - pc"), 6, out)
        self.assertIn("a step of ResNet-18", out)


if __name__ == "__main__":
    unittest.main()
