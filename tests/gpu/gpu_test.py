"""A worker on a PC with a real NVIDIA GPU. Skipped, with the reason, where there is none."""

import json
import shutil
import subprocess
import unittest

from harness.cluster import PYTHON, ROOT, Cluster
from harness.process import eventually


def nvidia_smi(*fields):
    """One row per GPU as the driver's own tool reads it; None if there is no GPU."""
    if not shutil.which("nvidia-smi"):
        return None
    done = subprocess.run(
        ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"],
        capture_output=True, text=True)
    if done.returncode != 0:
        return None
    return [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]


@unittest.skipUnless(nvidia_smi("uuid"), "no NVIDIA GPU on this machine")
class GpuTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def test_the_worker_reads_what_the_driver_says(self):
        node = self.cluster.node("pc1")
        rows = nvidia_smi("uuid", "name", "memory.total", "driver_version")
        self.assertEqual([d["uuid"] for d in node["devices"]], [r[0] for r in rows])
        self.assertEqual([d["name"] for d in node["devices"]], [r[1] for r in rows])
        for device, row in zip(node["devices"], rows):
            self.assertAlmostEqual(int(device["memory_bytes"]) / 2**20, int(row[2]), delta=1024)
        self.assertEqual(node["driver"], rows[0][3])

    def test_a_rank_gets_its_gpu_and_a_run_without_gets_none(self):
        show = ["sh", "-c", 'echo "$CUDA_VISIBLE_DEVICES|$CUDA_DEVICE_ORDER"']
        done = self.cluster.hpcctl("run", "--gpus-per-node", 1, "--", *show)
        self.assertEqual(done.stdout.strip(), "0|PCI_BUS_ID")
        done = self.cluster.hpcctl("run", "--gpus-per-node", 0, "--", *show)
        self.assertEqual(done.stdout.split("|")[0].strip(), "")

    @unittest.skipUnless(PYTHON, "HPC_TEST_PYTHON names no Python with torch")
    def test_the_example_trains_with_nccl(self):
        done = self.cluster.hpcctl("run", "--", "python3", ROOT / "examples/ddp_digits.py",
                                   timeout=300)
        print(done.stdout)
        self.assertIn("cuda", done.stdout)
        facts = json.loads(self.cluster.sql("SELECT facts FROM environments")[-1]["facts"])
        print(facts)
        self.assertIn("torch", facts)
        self.assertIn("driver", facts)

    @unittest.skipUnless(PYTHON, "HPC_TEST_PYTHON names no Python with torch")
    def test_reclaim_frees_the_gpus_memory(self):
        script = self.cluster.script("hold.py", (
            "import signal, time, torch\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "x = torch.ones(1 << 30, device='cuda')\n"
            "print('holding', flush=True)\ntime.sleep(600)\n"))
        before = int(nvidia_smi("memory.used")[0][0])
        run = self.cluster.submit("--", "python3", script)
        eventually(lambda: "holding" in self.cluster.hpcctl("logs", run).stdout, "it holds", 120)
        self.assertGreater(int(nvidia_smi("memory.used")[0][0]), before + 3000)
        self.cluster.hpcctl("reclaim", "pc1", "--grace", "2s")
        eventually(lambda: int(nvidia_smi("memory.used")[0][0]) < before + 500,
                   "the memory is free again", 20)
        print([e["text"] for e in self.cluster.events() if e["kind"] == "node.returned"])
        self.cluster.hpcctl("cancel", run)
        self.cluster.hpcctl("lend", "pc1")


if __name__ == "__main__":
    unittest.main()
