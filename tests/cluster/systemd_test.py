"""Master and PC in one, installed as systemd units."""

import json
import re
import unittest

from harness.booted_pc import BootedPc
from harness.cluster import BIN, ROOT
from harness.process import eventually

WHY_NOT = BootedPc.available()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class SystemdTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pc = BootedPc()
        cls.addClassCleanup(cls.pc.close)
        for program in ("hpcctl", "hpc-coordinator", "hpc-worker", "hpc-supervisor"):
            cls.pc.put(BIN / program, f"/usr/local/bin/{program}")
        for unit in ("hpc-coordinator", "hpc-worker"):
            cls.pc.put(ROOT / f"deploy/systemd/{unit}.service",
                       f"/etc/systemd/system/{unit}.service")
        cls.pc.run("id -u hpc || useradd --system --create-home hpc")
        cls.pc.run("rm -rf /var/lib/hpc /var/lib/hpc-worker /root/.config/hpc; "
                   "systemctl daemon-reload; systemctl enable hpc-worker; "
                   "systemctl start hpc-worker")
        # The worker has nothing to do before it has joined, and that is not a failure.
        assert cls.active("hpc-worker") == "inactive", cls.pc.journal()
        cls.pc.run("hpcctl cluster init; systemctl enable --now hpc-coordinator")
        cls.token = cls.pc.run("hpcctl token create").stdout.strip()
        cls.joined = cls.pc.run(f"hpc-worker join {cls.token} --name pc1").stdout
        eventually(lambda: cls.node()["state"] == "idle", "pc1 is ready", 10)

    @classmethod
    def active(cls, unit):
        return cls.pc.run(f"systemctl is-active {unit}", check=False).stdout.strip()

    @classmethod
    def node(cls):
        return next(iter(json.loads(cls.pc.run("hpcctl nodes --json").stdout)), {"state": ""})

    def record(self, run):
        return json.loads(self.pc.run(f"hpcctl show {run} --json").stdout)

    def submit(self, script):
        out = self.pc.run(f"hpcctl run --detach --json -- bash -c '{script}'").stdout
        run = json.loads(out)["id"]
        self.wait_state(run, "running")
        return run

    def wait_state(self, run, state):
        eventually(lambda: self.record(run)["run"]["state"] == state, f"run {run} is {state}", 20)

    def pid(self, run):
        return self.record(run)["ranks"][-1]["pid"]

    def test_one_pasted_line_made_it_a_node(self):
        self.assertIn("pc1 is a member", self.joined)
        self.assertIn("its worker runs", self.joined)
        self.assertEqual(self.active("hpc-worker"), "active")

    def test_ranks_live_in_a_scope_of_their_own_and_not_as_root(self):
        run = self.submit("id -un; cat /proc/self/cgroup; sleep 1000")
        eventually(lambda: "hpc.slice" in self.pc.run(f"hpcctl logs {run}").stdout, "it has said")
        said = self.pc.run(f"hpcctl logs {run}").stdout
        self.assertIn("hpc\n", said)
        self.assertRegex(said, r"/hpc.slice/hpc-\d+-.*\.scope")
        self.pc.run(f"hpcctl cancel {run}")
        self.wait_state(run, "cancelled")

    def test_an_attempt_that_left_nothing_leaves_its_scope_to_the_next(self):
        def scope():
            run = self.submit("cat /proc/self/cgroup; sleep 0.5")
            self.wait_state(run, "succeeded")
            eventually(lambda: "hpc.slice" in self.pc.run(f"hpcctl logs {run}").stdout, "it has said")
            return re.search(r"/hpc.slice/(hpc-.*\.scope)", self.pc.run(f"hpcctl logs {run}").stdout)[1]
        first = scope()
        self.assertEqual(scope(), first)
        self.pc.run("systemctl stop hpc.slice")
        self.assertNotEqual(scope(), first)

    def test_the_pc_does_not_suspend_itself_under_ranks(self):
        if self.pc.run("systemctl start dbus systemd-logind", check=False).returncode != 0:
            self.skipTest("this machine has no logind")
        locks = "systemd-inhibit --list --no-legend"
        run = self.submit("sleep 1000")
        eventually(lambda: "hpcctl" in self.pc.run(locks).stdout, "a lock is held", 20)
        self.assertRegex(self.pc.run(locks).stdout, r"hpcctl .*sleep:idle .*block")
        self.pc.run("hpc-worker reclaim")
        eventually(lambda: "hpcctl" not in self.pc.run(locks).stdout, "the lock is let go", 10)
        self.pc.run(f"hpc-worker lend; hpcctl cancel {run}")

    def test_a_restart_a_kill_and_an_upgrade_of_the_worker_leave_its_ranks_alone(self):
        script = "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 1; done; exit 7"
        run = self.submit(script)
        pid = self.pid(run)
        self.pc.run("systemctl restart hpc-worker")
        self.pc.run("systemctl kill -s KILL hpc-worker")
        eventually(lambda: self.active("hpc-worker") == "active", "it is back", 15)
        self.pc.put(BIN / "hpc-worker", "/usr/local/bin/hpc-worker")
        self.pc.put(BIN / "hpc-supervisor", "/usr/local/bin/hpc-supervisor")
        self.pc.run("systemctl restart hpc-worker")
        self.wait_state(run, "failed")
        record = self.record(run)
        self.assertEqual(record["ranks"][-1]["pid"], pid)
        self.assertEqual(record["run"]["exit_code"], 7)
        self.assertEqual(len(record["attempts"]), 1)
        said = self.pc.run(f"hpcctl logs {run}").stdout
        self.assertEqual([line.split("] ")[-1] for line in said.splitlines()],
                         [f"line {i}" for i in range(1, 10)])

    def test_a_coordinator_that_is_restarted_loses_nothing(self):
        run = self.submit("sleep 4; echo done")
        self.pc.run("systemctl kill -s KILL hpc-coordinator")
        eventually(lambda: self.active("hpc-coordinator") == "active", "it is back", 15)
        self.pc.run("systemctl restart hpc-coordinator")
        self.wait_state(run, "succeeded")
        self.assertEqual(len(self.record(run)["attempts"]), 1)

    def test_stopping_the_slice_gives_the_pc_back_whatever_hpcctl_does(self):
        run = self.submit("sleep 1000")
        pid = self.pid(run)
        self.pc.run("systemctl stop hpc-worker; systemctl stop hpc.slice")
        self.assertEqual(self.pc.run("systemctl list-units --plain --no-legend 'hpc-*.scope'").stdout, "")
        self.assertNotEqual(self.pc.run(f"kill -0 {pid}", check=False).returncode, 0)
        self.pc.run(f"hpcctl cancel {run}; systemctl start hpc-worker")
        self.wait_state(run, "cancelled")
        eventually(lambda: self.node()["state"] == "idle", "pc1 is ready again", 15)

    def test_what_was_installed_can_be_removed(self):  # the last test, by its name
        pid = self.pid(self.submit("sleep 1000"))
        self.pc.put(ROOT / "deploy/install.sh", "/root/deploy/install.sh")
        said = self.pc.run("bash /root/deploy/install.sh remove").stdout
        for left in ("rm -rf /var/lib/hpc\n", "rm -rf /var/lib/hpc-worker\n", "userdel --remove hpc",
                     "hpcctl cert revoke"):
            self.assertIn(left, said)
        for unit in ("hpc-coordinator", "hpc-worker"):
            self.assertNotEqual(self.active(unit), "active")
        for gone in (f"kill -0 {pid}", "ls /usr/local/bin/hpc*", "ls /etc/systemd/system/hpc-*"):
            self.assertNotEqual(self.pc.run(gone, check=False).returncode, 0, gone)


if __name__ == "__main__":
    unittest.main()
