#!/usr/bin/env python3
"""Compiles and runs ONNX's node tests as programs, on one host rank and on several.

--models is what `ConformanceTests --write-models` writes: many tests in each model. Every output of every program is compared
with what ONNX expects, within ONNX's tolerances; on several ranks, whose sums have another order, within wider ones. A model
that is refused, does not compile or does not run fails with all its tests; nothing is left out. Ends with 1 when a test failed.
"""
import argparse
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy

from forced import Difference, expect
from run_inference import execute, read_json
from verdicts import Verdicts

CONFIGURATIONS = [(1, ""), (2, "dp=2"), (3, "tp1d=3")]
# Compilers of one model each.
JOBS = 2
# With fewer tests something is wrong with who writes them.
FEWEST_TESTS = 700


def read_output(path, bfloat16):
    array = numpy.load(path)
    return (array.astype(numpy.uint32) << 16).view(numpy.float32) if bfloat16 else array


def check_output(name, result, expected, tolerance):
    expect(result.dtype == expected.dtype and result.shape == expected.shape,
           f"{name} is {result.dtype}{list(result.shape)}, not {expected.dtype}{list(expected.shape)}")
    equal = result == expected
    if expected.dtype.kind == "f":
        relative, absolute = tolerance
        result, expected = result.astype(numpy.float64), expected.astype(numpy.float64)
        with numpy.errstate(invalid="ignore"):
            near = numpy.isfinite(expected) & (numpy.abs(result - expected) <= absolute + relative * numpy.abs(expected))
        equal = equal | (numpy.isnan(result) & numpy.isnan(expected)) | near
    if not equal.all():
        at = tuple(int(index) for index in numpy.argwhere(~equal)[0])
        raise Difference(f"{name} has {result[at]} at {list(at)}, not {expected[at]}; {int((~equal).sum())} of {equal.size} differ")


def check_test(test, folder, results, tolerance):
    for name, output in test["outputs"].items():
        result = read_output(os.path.join(results, name.replace("/", "_") + ".npy"), output["bfloat16"])
        expected = read_output(os.path.join(folder, output["file"]), output["bfloat16"])
        check_output(name, result, expected, test[tolerance])
    return f"{len(test['outputs'])} outputs"


def compile_and_run(parplan, folder, tests, ranks, specification, work):
    """Returns the folder with the outputs of all tests."""
    out, results = (os.path.join(work, name) for name in ("out", "results"))
    command = [parplan, os.path.join(folder, "model.onnx"), "--gpus", str(ranks), "--target", "host", "--time-budget", "5", "-o", out]
    if specification:
        command += ["--force", specification]
    execute(command)
    command = [os.path.join(out, "program"), "--ranks", str(ranks), "--output-dir", results]
    for test in tests:
        for name, file in test["inputs"].items():
            command += ["--input", f"{name}={os.path.join(folder, file)}"]
    execute(command)
    return results


def run_model(parplan, folder, ranks, specification):
    """Returns a pair per test: what `tests.json` says of it, and in words what was seen, or the exception."""
    tests = read_json(os.path.join(folder, "tests.json"))
    with tempfile.TemporaryDirectory(prefix="parplan-") as work:
        try:
            results, problem = compile_and_run(parplan, folder, tests, ranks, specification, work), None
        except (Difference, OSError) as caught:
            results, problem = "", caught

        def look(test):
            try:
                if problem:
                    raise problem
                return check_test(test, folder, results, "tolerance" if ranks == 1 else "tolerance_on_ranks")
            except (Difference, OSError, ValueError) as caught:
                return caught
        return [(test, look(test)) for test in tests]


def parse_configuration(text):
    ranks, specification = text.split(":", 1)
    return int(ranks), specification


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parplan", required=True, help="the program parplan")
    parser.add_argument("--models", required=True, help="folder that ConformanceTests wrote")
    parser.add_argument("--only", default="", help="only the model of this number")
    parser.add_argument("--configuration", action="append", help="RANKS:FORCE, e.g. 2:dp=2; repeatable")
    options = parser.parse_args()
    parplan = os.path.abspath(options.parplan)
    folders = [os.path.join(options.models, name) for name in sorted(os.listdir(options.models)) if options.only in ("", name)]
    verdicts = Verdicts()

    def count_tests():
        count = sum(len(read_json(os.path.join(folder, "tests.json"))) for folder in folders)
        expect(count >= FEWEST_TESTS, f"{count}, at least {FEWEST_TESTS}")
        return str(count)

    if not options.only:
        verdicts.check("number of tests", count_tests)

    def tell(outcome):
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    with ThreadPoolExecutor(JOBS) as pool:
        for ranks, specification in [parse_configuration(text) for text in options.configuration or []] or CONFIGURATIONS:
            runs = pool.map(lambda folder: run_model(parplan, folder, ranks, specification), folders)
            for run in runs:
                for test, outcome in run:
                    title = f"{test['operator'] or 'several operators'}, {test['name']}, {ranks} ranks"
                    verdicts.check(title, lambda: tell(outcome))
    verdicts.end()


if __name__ == "__main__":
    main()
