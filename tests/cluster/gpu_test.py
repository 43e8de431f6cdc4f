"""Nodes with GPUs, as a stand-in for NVIDIA's library tells of them."""

import pathlib
import tempfile
import unittest

from harness.cluster import BIN, ClusterTest

# The fake has the file name of the real library (tests/testing/fake_nvml).
NVML = BIN.parent / "fake_nvml"
GIB = 1 << 30
# The order is against that of the bus, as NVML may list them.
TWO = f"""driver 550.54.14
device
pci 00000000:41:00.0
uuid GPU-41
name NVIDIA GeForce RTX 3090
memory {24 * GIB} {2 * GIB}
utilization 97
device
pci 00000000:0A:00.0
uuid GPU-0a
name NVIDIA GeForce GTX 1080
memory {8 * GIB} 0
utilization 0
"""
ONE = f"""driver 535.10
device
pci 00000000:01:00.0
uuid GPU-01
name NVIDIA GeForce RTX 4060
memory {8 * GIB} 0
"""


class GpuTest(ClusterTest):
    """pc1 has two GPUs, pc2 one, pc3 none."""

    @classmethod
    def setUpClass(cls):
        if not (NVML / "libnvidia-ml.so.1").exists():
            raise AssertionError(f"{NVML}/libnvidia-ml.so.1 is not built")
        cls.says = tempfile.TemporaryDirectory(prefix="hpc-nvml-")
        worker_env = {}
        for name, text in (("pc1", TWO), ("pc2", ONE)):
            path = pathlib.Path(cls.says.name) / name
            path.write_text(text)
            worker_env[name] = {"LD_LIBRARY_PATH": str(NVML), "FAKE_NVML_STATE": str(path)}
        cls.options = {"nodes": 3, "worker_env": worker_env}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.says.cleanup()

    def environment(self, *args):
        """What ranks see: {(node, local rank): CUDA_VISIBLE_DEVICES}."""
        done = self.cluster.hpcctl(
            "run", "--no-label", *args, "--", "sh", "-c",
            'echo "$HPC_NODE $LOCAL_RANK ${CUDA_VISIBLE_DEVICES-unset} ${CUDA_DEVICE_ORDER-unset}"')
        seen = {}
        for line in done.stdout.splitlines():
            node, local_rank, devices, order = line.split(" ")
            self.assertEqual(order, "unset" if devices == "unset" else "PCI_BUS_ID")
            seen[node, int(local_rank)] = devices
        return seen

    def test_nodes_show_their_gpus_in_the_order_of_the_bus(self):
        devices = self.cluster.node("pc1")["devices"]
        self.assertEqual([(d["index"], d["kind"], d["uuid"], d["name"], d["memory_bytes"])
                          for d in devices],
                         [(0, "gpu", "GPU-0a", "NVIDIA GeForce GTX 1080", 8 * GIB),
                          (1, "gpu", "GPU-41", "NVIDIA GeForce RTX 3090", 24 * GIB)])
        self.assertEqual(self.cluster.node("pc1")["driver"], "550.54.14")
        self.assertEqual([d["kind"] for d in self.cluster.node("pc3")["devices"]], ["cpu-slot"])

    def test_each_rank_of_a_node_sees_all_gpus_of_its_run(self):
        self.assertEqual(self.environment("--nodelist", "pc1", "--gpus-per-node", 2),
                         {("pc1", 0): "0,1", ("pc1", 1): "0,1"})
        self.assertEqual(self.environment("-N", 2, "--gpus-per-node", 1, "--nodelist", "pc1,pc2"),
                         {("pc1", 0): "0", ("pc2", 0): "0"})
        self.assertEqual(
            self.environment("--nodelist", "pc1", "--gpus-per-node", 2, "--ranks-per-node", 1),
            {("pc1", 0): "0,1"})

    def test_by_default_a_run_gets_every_gpu_and_a_rank_for_each(self):
        self.assertEqual(self.environment("--nodelist", "pc1"),
                         {("pc1", 0): "0,1", ("pc1", 1): "0,1"})

    def test_a_run_without_gpus_sees_none(self):
        self.assertEqual(self.environment("--nodelist", "pc1", "--gpus-per-node", 0),
                         {("pc1", 0): ""})
        self.assertEqual(self.environment("--nodelist", "pc3"), {("pc3", 0): "unset"})

    def test_the_users_own_choice_of_gpus_wins(self):
        self.assertEqual(
            self.environment("--nodelist", "pc2", "--env", "CUDA_VISIBLE_DEVICES=GPU-01"),
            {("pc2", 0): "GPU-01"})

    def test_two_runs_share_a_node_but_no_gpu(self):
        marks = self.cluster.dir / "marks"
        script = self.cluster.script("hold.sh", "#!/bin/sh\n"
            f"echo $CUDA_VISIBLE_DEVICES > {marks}-$HPC_RUN_ID\nexec sleep 60\n")
        runs = [self.cluster.submit("--nodelist", "pc1", "--gpus-per-node", 1, "--", script)
                for _ in range(2)]
        for run in runs:
            self.cluster.wait_state(run, "running")
        third = self.cluster.submit("--nodelist", "pc1", "--gpus-per-node", 1, "--", script)
        self.assertEqual(self.cluster.run_state(third), "queued")
        for run in runs + [third]:
            self.cluster.hpcctl("cancel", run)
            self.cluster.wait_state(run, "cancelled")
        self.assertEqual({pathlib.Path(f"{marks}-{run}").read_text().strip() for run in runs},
                         {"0", "1"})

    def test_more_gpus_than_exist_are_refused_with_what_exists(self):
        for args, words in ((("--gpus-per-node", 3), ("3 GPUs", "pc1 (2 GPUs)", "pc3 (no GPU)")),
                            (("-N", 3, "--gpus-per-node", 1), ("pc1", "pc2")),
                            (("--nodelist", "pc2", "--gpus-per-node", 2), ("pc2", "1 GPU"))):
            done = self.cluster.hpcctl("run", *args, "--", "true", check=False)
            self.assertNotEqual(done.returncode, 0)
            for word in words:
                self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
