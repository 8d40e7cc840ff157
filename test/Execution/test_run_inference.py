#!/usr/bin/env python3
"""run_inference.py must notice each way in which a run can differ from its plan or from PyTorch."""
import copy
import os
import tempfile
import unittest

import numpy

import run_inference

MEASURED = {
    "ranks": 2,
    "peak_memory_bytes": {"per_rank": [4096, 4096]},
    "communication": {"per_rank": [{"all_reduce": {"calls": 1, "bytes": 64}}, {"all_reduce": {"calls": 1, "bytes": 64}}],
                      "order_sha256": ["a", "a"]},
}
PLAN = {
    "mesh": {"axes": [{"name": "tp0", "role": "tensor", "size": 2}]},
    "operators": [{"op": "MatMul", "flops": 90, "algorithm": "row"}, {"op": "Gemm", "flops": 10, "algorithm": "replicate"}],
    "predicted": {key: MEASURED[key] for key in ("peak_memory_bytes", "communication")},
}


class PredictionTest(unittest.TestCase):
    def setUp(self):
        self.measured = copy.deepcopy(MEASURED)

    def check(self):
        run_inference.check_prediction(PLAN, self.measured, 2)

    def test_equal_documents_pass(self):
        self.check()

    def test_kinds_that_never_occur_may_be_listed(self):
        self.measured["communication"]["per_rank"][1]["send"] = {"calls": 0, "bytes": 0}
        self.check()

    def test_one_byte_more_on_one_rank(self):
        self.measured["communication"]["per_rank"][1]["all_reduce"]["bytes"] += 1
        self.assertRaisesRegex(run_inference.Difference, "rank 1: communication", self.check)

    def test_a_kind_that_was_not_predicted(self):
        self.measured["communication"]["per_rank"][0]["send"] = {"calls": 1, "bytes": 8}
        self.assertRaisesRegex(run_inference.Difference, "rank 0: communication", self.check)

    def test_another_peak(self):
        self.measured["peak_memory_bytes"]["per_rank"][1] -= 1
        self.assertRaisesRegex(run_inference.Difference, "rank 1: a peak", self.check)

    def test_another_order(self):
        self.measured["communication"]["order_sha256"][1] = "b"
        self.assertRaisesRegex(run_inference.Difference, "rank 1: the order", self.check)

    def test_a_rank_that_is_missing(self):
        self.measured["communication"]["per_rank"].pop()
        self.assertRaisesRegex(run_inference.Difference, "not there for every rank", self.check)

    def test_another_number_of_ranks(self):
        self.measured["ranks"] = 1
        self.assertRaisesRegex(run_inference.Difference, "1 ranks ran", self.check)


class MeshTest(unittest.TestCase):
    def check(self, ranks, forced):
        run_inference.check_mesh(PLAN, ranks, forced)

    def test_forced_size_is_planned(self):
        self.check(2, {"tp1d": 2})

    def test_another_role_is_planned(self):
        self.assertRaisesRegex(run_inference.Difference, "dp=2 was forced, 1 is planned", self.check, 2, {"dp": 2})

    def test_mesh_of_other_ranks(self):
        self.assertRaisesRegex(run_inference.Difference, "not one of 4 ranks", self.check, 4, {})

    def test_products_that_are_not_split(self):
        plan = copy.deepcopy(PLAN)
        plan["operators"][0]["algorithm"] = "replicate"
        self.assertRaisesRegex(run_inference.Difference, "0 of 100 operations",
                               run_inference.check_mesh, plan, 2, {"tp1d": 2})


class OutputTest(unittest.TestCase):
    EXPECTED = numpy.array([1.0, -2.0, 0.5], dtype=numpy.float32)

    def check(self, result):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "results"))
            numpy.save(os.path.join(folder, "expected.npy"), self.EXPECTED)
            numpy.save(os.path.join(folder, "results", "logits.npy"), result)
            return run_inference.check_outputs({"outputs": {"logits": "expected.npy"}}, folder,
                                               os.path.join(folder, "results"))

    def test_rounding_passes(self):
        self.assertLess(self.check(self.EXPECTED * numpy.float32(1 + 1e-6)), 2e-5)

    def test_a_difference_above_the_tolerance(self):
        self.assertRaisesRegex(run_inference.Difference, "differs by 5.00e-05", self.check, self.EXPECTED + 1e-4)

    def test_values_that_are_not_numbers(self):
        self.assertRaisesRegex(run_inference.Difference, "differs by nan", self.check, self.EXPECTED * numpy.nan)

    def test_another_shape(self):
        self.assertRaisesRegex(run_inference.Difference, "has shape", self.check, self.EXPECTED[:2])


if __name__ == "__main__":
    unittest.main()
