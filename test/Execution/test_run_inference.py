#!/usr/bin/env python3
"""Each way in which a run can differ from its plan, from --force or from PyTorch must be noticed."""
import copy
import os
import tempfile
import unittest

import numpy

import forced
import run_inference

MEASURED = {
    "ranks": 2,
    "peak_memory_bytes": {"per_rank": [4096, 4096]},
    "communication": {"per_rank": [{"all_reduce": {"calls": 1, "bytes": 64}}, {"all_reduce": {"calls": 1, "bytes": 64}}],
                      "order_sha256": ["a", "a"]},
    "offload": {"per_rank": [{"host_to_device_bytes": 0, "device_to_host_bytes": 0, "nvme_read_bytes": 0,
                              "nvme_write_bytes": 0}] * 2},
}
PLAN = {
    "config": {"schedule": "gpipe"},
    "stages": [{"ranks": [0, 1], "chunk": 0}],
    "mesh": {"axes": [{"name": "tp0", "role": "tensor", "size": 2}]},
    "operators": [{"node": "/mlp/up", "op": "MatMul", "flops": 90, "algorithm": "row", "recompute": "keep"},
                  {"node": "/head", "op": "Gemm", "flops": 10, "algorithm": "replicate", "recompute": "keep"}],
    "parameters": [{"name": "up", "tier": "hbm", "optimizer_tier": "hbm"}],
    "predicted": {key: MEASURED[key] for key in ("peak_memory_bytes", "communication", "offload")},
}
PIPELINE = PLAN | {
    "config": {"schedule": "interleaved:2"},
    "mesh": {"axes": [{"name": "pp0", "role": "pipeline", "size": 2}]},
    "stages": [{"ranks": [stage % 2], "chunk": stage // 2} for stage in range(4)],
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
        self.assertRaisesRegex(forced.Difference, "rank 1: communication", self.check)

    def test_a_kind_that_was_not_predicted(self):
        self.measured["communication"]["per_rank"][0]["send"] = {"calls": 1, "bytes": 8}
        self.assertRaisesRegex(forced.Difference, "rank 0: communication", self.check)

    def test_another_peak(self):
        self.measured["peak_memory_bytes"]["per_rank"][1] -= 1
        self.assertRaisesRegex(forced.Difference, "rank 1: a peak", self.check)

    def test_another_order(self):
        self.measured["communication"]["order_sha256"][1] = "b"
        self.assertRaisesRegex(forced.Difference, "rank 1: the order", self.check)

    def test_a_rank_that_is_missing(self):
        self.measured["communication"]["per_rank"].pop()
        self.assertRaisesRegex(forced.Difference, "not there for every rank", self.check)

    def test_bytes_between_tiers_that_were_not_predicted(self):
        self.measured["offload"]["per_rank"][0]["host_to_device_bytes"] = 8
        self.assertRaisesRegex(forced.Difference, "rank 0: offload", self.check)

    def test_memory_of_another_tier_that_was_not_predicted(self):
        self.measured["host_peak_memory_bytes"] = {"per_rank": [0, 64]}
        self.assertRaisesRegex(forced.Difference, "rank 1: host_peak_memory_bytes 0", self.check)

    def test_another_number_of_ranks(self):
        self.measured["ranks"] = 1
        self.assertRaisesRegex(forced.Difference, "1 ranks ran", self.check)


class ForcedTest(unittest.TestCase):
    def check(self, ranks, specification, plan=None):
        forced.Forced(specification).check_plan(plan or PLAN, ranks)

    def refuses(self, text, *arguments):
        self.assertRaisesRegex(forced.Difference, text, self.check, *arguments)

    def test_forced_size_is_planned(self):
        self.check(2, "tp1d=2")

    def test_another_role_is_planned(self):
        self.refuses("dp=2 was forced, 1 is planned", 2, "dp=2")

    def test_mesh_of_other_ranks(self):
        self.refuses("not one of 4 ranks", 4, "")

    def test_products_that_are_not_split(self):
        plan = copy.deepcopy(PLAN)
        plan["operators"][0]["algorithm"] = "replicate"
        self.refuses("0 of 100 operations", 2, "tp1d=2", plan)

    def test_products_of_another_kind(self):
        self.refuses("tp2d was forced, 0 of 100", 2, "tp2d=2x1")

    def test_a_node_does_what_was_forced(self):
        self.check(2, "node:/mlp/*:row")

    def test_a_node_does_something_else(self):
        self.refuses("no operator called /mlp/up is column", 2, "node:/mlp/up:column")

    def test_one_of_two_nodes_does_something_else(self):
        self.refuses("row was forced for /\\*, \\['/head'\\] do something else", 2, "node:/*:row")

    def test_a_sequence_that_is_whole(self):
        plan = copy.deepcopy(PLAN)
        plan["operators"].append({"node": "/norm", "op": "LayerNormalization", "flops": 1, "algorithm": "replicate",
                                  "outputs": [{"sharding": [[], [], []]}]})
        self.refuses("no operator makes a sequence", 2, "tp1d=2,sp=on", plan)
        plan["operators"][-1]["outputs"][0]["sharding"][1] = ["tp0"]
        self.check(2, "tp1d=2,sp=on", plan)

    def test_attention_that_keeps_its_sequence(self):
        plan = copy.deepcopy(PLAN)
        plan["mesh"]["axes"][0]["role"] = "context"
        self.refuses("no attention exchanges its sequence", 2, "cp=2", plan)

    def test_a_pipeline(self):
        self.check(2, "pp=2,schedule=interleaved:2", PIPELINE)

    def test_another_schedule(self):
        self.refuses("1f1b was forced, interleaved:2 is planned", 2, "pp=2,schedule=1f1b", PIPELINE)

    def test_a_position_that_lacks_a_chunk(self):
        self.refuses("different numbers of chunks", 2, "pp=2", PIPELINE | {"stages": PIPELINE["stages"][:3]})

    def test_ranks_without_a_stage(self):
        self.refuses("do not share the ranks out", 2, "pp=2", PIPELINE | {"stages": PIPELINE["stages"][:1]})

    def test_stages_that_all_ranks_run(self):
        plan = PIPELINE | {"stages": [{"ranks": [0, 1], "chunk": 0}]}
        self.refuses("pp=2 was forced, 1 groups of ranks run stages", 2, "pp=2", plan)

    def test_nothing_runs_again(self):
        self.refuses("no operator runs again", 2, "recompute=full")

    def test_tiers_that_were_not_asked_for(self):
        self.refuses("optimizer_tier is also \\['hbm'\\]", 2, "offload=optimizer:cpu")
        self.refuses("tier is also \\['hbm'\\]", 2, "offload=optimizer:cpu,offload=parameters:cpu",
                     PLAN | {"parameters": [{"tier": "hbm", "optimizer_tier": "cpu"}]})
        self.refuses("no activation waits", 2, "offload=activations:cpu")

    def test_a_run_that_offloads_nothing(self):
        self.assertRaisesRegex(forced.Difference, "\\[0, 0\\] bytes went there and back",
                               forced.Forced("offload=optimizer:nvme").check_communication, MEASURED)

    def test_a_run_without_the_communication_of_its_kind(self):
        self.assertRaisesRegex(forced.Difference, "cp was forced, and no",
                               forced.Forced("cp=2").check_communication, MEASURED)

    def test_a_run_with_the_communication_of_its_kind(self):
        forced.Forced("tp1d=2").check_communication(MEASURED)


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
        self.assertRaisesRegex(forced.Difference, "differs by 5.00e-05", self.check, self.EXPECTED + 1e-4)

    def test_values_that_are_not_numbers(self):
        self.assertRaisesRegex(forced.Difference, "differs by nan", self.check, self.EXPECTED * numpy.nan)

    def test_another_shape(self):
        self.assertRaisesRegex(forced.Difference, "has shape", self.check, self.EXPECTED[:2])


if __name__ == "__main__":
    unittest.main()
