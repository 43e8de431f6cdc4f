"""Tests of hpc.py: what it writes and reads, and that it never gets in a program's way."""

import contextlib
import importlib
import io
import json
import math
import os
import tempfile
import threading
import time
import unittest
from unittest import mock

import hpc


class HpcTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.metrics = os.path.join(self.dir.name, "metrics.jsonl")

    def load(self, **environment):
        """hpc as a program sees it that was started with these variables alone."""
        patch = mock.patch.dict(os.environ, environment, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        return importlib.reload(hpc)

    def lines(self):
        with open(self.metrics, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_log_writes_one_line_of_json(self):
        before = time.time()
        self.load(HPC_METRICS_FILE=self.metrics).log(step=3, loss=0.5, good=True, n=7)
        (line,) = self.lines()
        self.assertEqual((line["step"], line["loss"], line["good"], line["n"]), (3, 0.5, True, 7))
        self.assertLessEqual(before, line["time"])
        self.assertLessEqual(line["time"], time.time())

    def test_a_checkpoint_is_told_of(self):
        self.load(HPC_METRICS_FILE=self.metrics).checkpoint_saved(step=7)
        self.assertEqual((self.lines()[0]["checkpoint_saved"], self.lines()[0]["step"]), (1, 7))
        self.load().checkpoint_saved()  # alone, to nobody

    def test_names_that_are_no_words_come_in_a_dict(self):
        module = self.load(HPC_METRICS_FILE=self.metrics)
        module.log({"loss/train": 0.5}, step=3, lr=0.1)
        module.log(4, loss=0.5)
        first, second = self.lines()
        self.assertEqual((first["loss/train"], first["lr"], first["step"]), (0.5, 0.1, 3))
        self.assertEqual((second["loss"], second["step"]), (0.5, 4))

    def test_a_step_is_not_needed(self):
        self.load(HPC_METRICS_FILE=self.metrics).log(loss=0.5)
        self.assertNotIn("step", self.lines()[0])

    def test_not_a_number_and_infinities_are_values(self):
        self.load(HPC_METRICS_FILE=self.metrics).log(a=math.nan, b=math.inf, c=-math.inf)
        with open(self.metrics, encoding="utf-8") as file:
            text = file.read()
        for value in ('"a": NaN', '"b": Infinity', '"c": -Infinity'):
            self.assertIn(value, text)

    def test_what_has_a_number_is_a_number(self):
        class Tensor:
            def item(self):
                return 0.25

        self.load(HPC_METRICS_FILE=self.metrics).log(loss=Tensor())
        self.assertEqual(self.lines()[0]["loss"], 0.25)

    def test_what_is_no_number_is_left_out_and_told_of_once(self):
        class Tensor:
            def item(self):
                raise RuntimeError("a Tensor with 3 elements cannot be converted to Scalar")

        module = self.load(HPC_METRICS_FILE=self.metrics)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            for _ in range(2):
                module.log(step=1, note="text", loss=0.5, grads=Tensor(), none=None)
        for line in self.lines():
            self.assertEqual({k: v for k, v in line.items() if k != "time"},
                             {"step": 1, "loss": 0.5})
        note, grads, none = said.getvalue().splitlines()
        self.assertEqual(note, "hpc.log: 'note' is not recorded: no number can be made of a str "
                               "(could not convert string to float: 'text')")
        self.assertIn("'grads'", grads)
        self.assertIn("3 elements", grads)
        self.assertIn("a NoneType", none)

    def test_a_record_of_nothing_is_not_written(self):
        module = self.load(HPC_METRICS_FILE=self.metrics)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            module.log(step="first", time=1)
        self.assertEqual(self.lines(), [])
        self.assertIn("'time'", said.getvalue())
        self.assertIn("'step'", said.getvalue())

    def test_a_warning_that_nobody_can_hear_does_not_end_the_program(self):
        module = self.load(HPC_METRICS_FILE=self.metrics)
        with contextlib.redirect_stderr(None):
            module.log(note="text", loss=0.5)
        self.assertEqual(self.lines()[0]["loss"], 0.5)

    def test_without_hpcctl_log_does_nothing(self):
        self.load().log(step=1, loss=0.5)

    def test_a_file_that_cannot_be_opened_does_not_end_the_program(self):
        self.load(HPC_METRICS_FILE="/nonexistent/metrics.jsonl").log(loss=0.5)

    def test_a_full_disk_does_not_end_the_program(self):
        self.load(HPC_METRICS_FILE="/dev/full").log(loss=0.5)

    def test_lines_of_threads_and_children_do_not_mix(self):
        module = self.load(HPC_METRICS_FILE=self.metrics)

        def write(who):
            for step in range(500):
                module.log(step=step, who=who)

        threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        child = os.fork()
        if child == 0:
            write(4)
            os._exit(0)
        os.waitpid(child, 0)
        lines = self.lines()
        self.assertEqual(len(lines), 2500)
        for who in range(5):
            steps = [line["step"] for line in lines if line["who"] == who]
            self.assertEqual(steps, list(range(500)))

    def test_a_call_costs_a_rank_next_to_nothing(self):
        module = self.load(HPC_METRICS_FILE=self.metrics)
        begin = time.process_time()
        for step in range(1000):
            module.log(step=step, loss=0.5, accuracy=0.9)
        # 1,000 calls a second shall take less than a tenth of it, even on a slow machine.
        self.assertLess(time.process_time() - begin, 0.1)

    def test_params_are_numbers_where_they_look_like_it(self):
        path = os.path.join(self.dir.name, "params.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"lr": "1e-3", "layers": "4", "bias": "true", "name": "big"}, file)
        module = self.load(HPC_PARAMS_FILE=path)
        self.assertEqual(module.params(), {"lr": 0.001, "layers": 4, "bias": True, "name": "big"})
        module.params()["lr"] = 7
        self.assertEqual(module.params()["lr"], 0.001)

    def test_params_that_only_look_like_numbers_are_text(self):
        texts = {"git": "1234e567", "id": "007", "n": "1_000", "dot": ".", "sign": "-", "": ""}
        path = os.path.join(self.dir.name, "params.json")
        numbers = {"a": "-0.5", "b": ".5", "c": "1.", "d": "+3", "e": "1E5", "f": "inf", "g": "0"}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**texts, **numbers}, file)
        self.assertEqual(self.load(HPC_PARAMS_FILE=path).params(),
                         {**texts, "a": -0.5, "b": 0.5, "c": 1.0, "d": 3, "e": 1e5,
                          "f": float("inf"), "g": 0})

    def test_without_hpcctl_there_are_no_params(self):
        self.assertEqual(self.load().params(), {})

    def test_rank_world_size_and_run(self):
        module = self.load(RANK="3", WORLD_SIZE="4", HPC_RUN_ID="12")
        self.assertEqual((module.rank(), module.world_size(), module.run_id()), (3, 4, 12))
        module = self.load(NODE_RANK="1", NNODES="2")
        self.assertEqual((module.rank(), module.world_size()), (1, 2))
        module = self.load()
        self.assertEqual((module.rank(), module.world_size(), module.run_id()), (0, 1, None))


if __name__ == "__main__":
    unittest.main()
