#!/usr/bin/env python3
"""Validates the documents that parplan and its programs write against docs/schema, on success and on failure.

    test_documents.py --parplan build/release/bin/parplan
"""
import argparse
import copy
import glob
import json
import os
import subprocess
import tempfile
import unittest
import warnings

import jsonschema

from run_training import ROOM

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MODEL = os.path.join(ROOT, "test/models/mlp/model.onnx")
INPUT = os.path.join(ROOT, "test/models/mlp/features.npy")
SCHEMAS = {}
PARPLAN = ""


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def make_validator(name):
    schema = SCHEMAS[name + ".schema.json"]
    try:
        import referencing
        import referencing.jsonschema
        registry = referencing.Registry().with_resources(
            [(key, referencing.jsonschema.DRAFT202012.create_resource(value)) for key, value in SCHEMAS.items()])
        return jsonschema.Draft202012Validator(schema, registry=registry)
    except ImportError:  # before jsonschema 4.18
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            resolver = jsonschema.RefResolver.from_schema(schema, store=SCHEMAS)
        return jsonschema.Draft202012Validator(schema, resolver=resolver)


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)


class Documents(unittest.TestCase):
    def expect_valid(self, name, document):
        errors = [f"{error.json_path}: {error.message[:300]}" for error in make_validator(name).iter_errors(document)]
        self.assertEqual(errors, [], f"{name}.schema.json")

    def run_json(self, *arguments, exit_code):
        """The document of a command, which is all of its standard output."""
        result = run(PARPLAN, *arguments, "--json")
        self.assertEqual(result.returncode, exit_code, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document["exit_code"], exit_code)
        self.expect_valid("command", document)
        return document

    def test_schemas_are_schemas(self):
        for name, schema in SCHEMAS.items():
            with self.subTest(name):
                jsonschema.Draft202012Validator.check_schema(schema)
                self.assertEqual(schema["$id"], name)

    def test_clusters(self):
        for preset in self.run_json("clusters", exit_code=0)["clusters"]:
            with self.subTest(preset["name"]):
                document = self.run_json("clusters", preset["name"], exit_code=0)
                common = ("parplan", "exit_code", "diagnostics")
                self.expect_valid("cluster", {key: value for key, value in document.items() if key not in common})

    def test_operators(self):
        self.assertGreater(len(self.run_json("ops", MODEL, exit_code=0)["operators"]), 0)

    def test_failures(self):
        with tempfile.TemporaryDirectory() as work:
            malformed = os.path.join(work, "malformed.onnx")
            with open(malformed, "wb") as file:
                file.write(b"not a model")
            for arguments, exit_code in [
                    (("--no-such-option",), 2), (("plan", MODEL), 2), (("plan", MODEL, "--gpus", "0"), 64),
                    (("plan", MODEL, "--gpus", "2", "--force", "dp=3,no=1"), 64),
                    (("plan", MODEL, "--gpus", "2", "--target", "host", "--memory-limit", "1"), 69),
                    (("plan", os.path.join(work, "absent.onnx"), "--gpus", "2"), 66),
                    (("plan", malformed, "--gpus", "2"), 65), (("ops", malformed), 65), (("check", malformed), 65)]:
                with self.subTest(arguments):
                    document = self.run_json(*arguments, exit_code=exit_code)
                    self.assertGreater(len(document["diagnostics"]), 0)

    def test_help_and_version(self):
        self.run_json("--help", exit_code=0)
        self.run_json("--version", exit_code=0)

    def test_a_program(self):
        with tempfile.TemporaryDirectory() as work:
            out = os.path.join(work, "mlp.parplan")
            document = self.run_json(MODEL, "--gpus", "2", "--target", "host", "-o", out, exit_code=0)
            plan = read_json(os.path.join(out, "plan.json"))
            self.assertEqual(document["plan"], plan)
            self.expect_valid("plan", plan)
            self.expect_valid("manifest", read_json(os.path.join(out, "manifest.json")))
            self.expect_valid("source_map", read_json(os.path.join(out, "source_map.json")))
            self.assertTrue(self.run_json("check", os.path.join(out, "plan.json"), MODEL, exit_code=0)["confirmed"])

            metrics = os.path.join(work, "metrics.json")
            program = (os.path.join(out, "program"), "--input", f"features={INPUT}", "--metrics", metrics)
            result = run(*program)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.expect_valid("metrics", read_json(metrics))
            self.assertNotIn("failure", read_json(metrics))
            self.assertNotEqual(run(*program, "--arena-bytes", "4096").returncode, 0)
            self.expect_valid("metrics", read_json(metrics))
            self.assertIn("failure", read_json(metrics))

    def test_plans_of_every_strategy(self):
        gpt2, mixtral = (os.path.join(ROOT, "test/models", name, "model.onnx") for name in ("gpt2", "mixtral"))
        for model, gpus, force in [(gpt2, 4, 'tp2d=2x2,node:"*addmm*":summa2d'), (gpt2, 8, "tp2.5d=2x2x2"), (gpt2, 8, "tp3d=2x2x2"),
                                   (gpt2, 4, 'cp=2,tp1d=2,sp=on,node:"*attention*":ring'), (mixtral, 4, "ep=2,dp=2"),
                                   (mixtral, 4, "dp=2,tp1d=2")]:
            with self.subTest(force), tempfile.TemporaryDirectory() as work:
                plan = self.run_json("plan", model, "--gpus", str(gpus), "--target", "host", "--force", force,
                                     "-o", os.path.join(work, "out"), exit_code=0)["plan"]
                path = os.path.join(work, "out", "plan.json")
                self.assertTrue(self.run_json("check", path, model, exit_code=0)["confirmed"])
                self.assertEqual(self.run_json("explain", path, exit_code=0)["plan"], plan)
                taken = self.run_json("plan", model, "--gpus", str(gpus), "--target", "host", "--plan", path,
                                      "-o", os.path.join(work, "taken"), exit_code=0)["plan"]
                for key in ("mesh", "inputs", "operators", "parameters"):
                    self.assertEqual(taken[key], plan[key], key)
                self.expect_own_communication(plan)
                if "ep=" in force:
                    self.expect_no_dropped_tokens(plan)
                # Four experts, of which a token has two; two ranks of two have rows for all.
                rows = {operator["experts"]["rows"] for operator in plan["operators"] if "experts" in operator}
                if rows:
                    self.assertEqual(rows, {4 if "ep=" in force else 2})

    def test_plans_of_pipelines(self):
        model = os.path.join(ROOT, "test/models/gpt2-dynamic/model.onnx")
        step = ("--target", "host", "--train", "--optimizer", "momentum", "--dim", "sequence=32", "--global-batch", "8")
        for gpus, force in [(2, "pp=2"), (4, "pp=2,dp=2,zero=3,micro-batches=2,recompute=full,offload=optimizer:cpu"),
                            (1, "offload=activations:cpu,offload=parameters:nvme"),
                            (4, "parameter-server=sync,servers=2"), (5, "parameter-server=async:staleness=2")]:
            with self.subTest(force), tempfile.TemporaryDirectory() as work:
                out = os.path.join(work, "out")
                plan = self.run_json("plan", model, "--gpus", str(gpus), *step, "--force", force, "-o", out, exit_code=0)["plan"]
                self.expect_valid("plan", plan)
                path = os.path.join(out, "plan.json")
                self.assertTrue(self.run_json("check", path, model, exit_code=0)["confirmed"])
                self.assertEqual(self.run_json("explain", path, exit_code=0)["plan"], plan)

    def test_a_plan_with_a_room(self):
        model = os.path.join(ROOT, "test/models/gpt2-dynamic/model.onnx")
        with tempfile.TemporaryDirectory() as work:
            plan = self.run_json("plan", model, "--gpus", "4", "--target", "host", "--train", "--optimizer", "momentum", "--dim",
                                 "sequence=32", "--global-batch", "8", "--force", "pp=4,micro-batches=8,schedule=zb-h1",
                                 *ROOM, "-o", work, exit_code=0)["plan"]
            self.expect_valid("plan", plan)
            self.assertEqual(len(plan["config"]["waiting_room_bytes"]), 4)
            self.assertTrue(all("micro_batch_bytes" in stage for stage in plan["stages"]))

    def expect_own_communication(self, plan):
        """What operators say they communicate is what the program does: calls of the same bytes, without gradients."""
        total = {}
        for operator in plan["operators"]:
            for call in operator["collectives"]:
                entry = total.setdefault(call["kind"], {"calls": 0, "bytes": 0})
                entry["calls"] += call["count"]
                entry["bytes"] += call["count"] * call["bytes"]
        # A rank whose block stays where it is sends nothing in a reshard.
        predicted = dict(plan["predicted"]["communication"]["per_rank"][-1])
        predicted.pop("recv", None)
        self.assertLessEqual(predicted.pop("send", {"bytes": 0})["bytes"], total.pop("send", {"bytes": 0})["bytes"])
        self.assertEqual(total, predicted)

    def expect_no_dropped_tokens(self, plan):
        dispatches = [operator["experts"] for operator in plan["operators"] if "experts" in operator]
        self.assertGreater(len(dispatches), 0)
        tokens = plan["inputs"][0]["shape"][0] * plan["inputs"][0]["shape"][1]
        for experts in dispatches:
            self.assertEqual((experts["capacity"], experts["drops_tokens"]), (tokens, False))

    def test_another_request(self):
        with tempfile.TemporaryDirectory() as work:
            self.run_json("plan", MODEL, "--gpus", "4", "--target", "host", "-o", work, exit_code=0)
            plan = os.path.join(work, "plan.json")
            other = self.run_json("explain", plan, "--why-not", "tp2d=2x2", exit_code=0)["why_not"]
            self.assertTrue(other["possible"])
            self.assertGreaterEqual(other["alternative"]["step_time_s"], other["planned_step_time_s"])
            refused = self.run_json("explain", plan, "--why-not", "cp=2", exit_code=0)["why_not"]
            self.assertFalse(refused["possible"])
            self.assertEqual(refused["reasons"][0]["code"], "E1032")

    def test_differences(self):
        with tempfile.TemporaryDirectory() as work:
            plans = []
            for force in ("dp=4,zero=1", "pp=2,dp=2,micro-batches=2"):
                out = os.path.join(work, force)
                self.run_json("plan", MODEL, "--gpus", "4", "--target", "host", "--train", "--force", force, "-o", out, exit_code=0)
                plans.append(os.path.join(out, "plan.json"))
            difference = self.run_json("diff", *plans, exit_code=0)["diff"]
            self.assertIn("mesh", [entry["name"] for entry in difference["settings"]])
            step = difference["step_time_s"]
            costs = sum(entry["cost_s"] for entry in difference["operators"]) + difference["rest_s"]
            self.assertAlmostEqual(costs, step["after"] - step["before"], delta=1e-9 * step["before"])
            self.run_json("diff", plans[0], MODEL, exit_code=65)

    def test_that_validation_notices(self):
        with tempfile.TemporaryDirectory() as work:
            plan = self.run_json("plan", MODEL, "--gpus", "2", "--target", "host", "-o", work, exit_code=0)["plan"]
        for key in plan:
            mutant = copy.deepcopy(plan)
            del mutant[key]
            self.assertFalse(make_validator("plan").is_valid(mutant), f"without {key}")
        plan["unknown"] = 1
        self.assertFalse(make_validator("plan").is_valid(plan))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--parplan", required=True)
    options, rest = parser.parse_known_args()
    PARPLAN = options.parplan
    for path in glob.glob(os.path.join(ROOT, "docs/schema/*.schema.json")):
        SCHEMAS[os.path.basename(path)] = read_json(path)
    unittest.main(argv=[__file__] + rest, verbosity=2)
