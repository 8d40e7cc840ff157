#!/usr/bin/env python3
"""Compares the exact solver with HiGHS on real models.

For every model, mesh and limit of memory the choice of layouts is written as a
mixed-integer program (benchmarks/milp/ExportMilp.cpp), solved by HiGHS, and
compared with what the planner finds:

    without a limit   plan = program, joint bound <= program <= joint plan
    with one          relaxed program <= plan, and where the solution of the
                      program fits by the evaluator, both bounds <= program,
                      and plan <= program if the plan is exact

The evaluator recomputes the seconds of every solution.

Needs highspy (PyPI), and parplan and ExportMilp in one build:

    benchmarks/milp.py --build build/release MODEL[:--option...] ...

Options behind a model go to `parplan plan`, which imports it: `m.onnx:--train`.
"""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import highspy

TOLERANCE = 1e-6


def export_problem(parplan, model, options, folder):
    """The planning problem of a model, as --dump-ir writes it."""
    command = [parplan, "plan", model, "--gpus", "2", "--dump-ir", str(folder), "-o", str(folder / "plan"), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "problem.json"


class Program:
    """What HiGHS says of a program, in seconds of a step."""

    def __init__(self, path, planned, limit_seconds):
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("time_limit", float(limit_seconds))
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.setOptionValue("mip_abs_gap", 1e-6)
        if solver.readModel(str(path)) == highspy.HighsStatus.kError:
            sys.exit(f"HiGHS cannot read {path}")
        start = time.monotonic()
        solver.run()
        self.spent = time.monotonic() - start
        self.minimum = self.bound = self.choices = None
        self.is_infeasible = solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible
        info = solver.getInfo()
        if self.is_infeasible:
            return
        self.bound = info.mip_dual_bound / planned["scale"]
        if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
            self.minimum = info.objective_function_value / planned["scale"]
            self.choices = [0] * planned["variables"]
            values = solver.getSolution().col_value
            for column, name in enumerate(solver.getLp().col_names_):
                if name[0] == "x" and values[column] > 0.5:
                    variable, choice = map(int, name[1:].split("_"))
                    self.choices[variable] = choice

    def __str__(self):
        if self.is_infeasible:
            return "infeasible"
        return "time is over" if self.minimum is None else show(self.minimum)


def compare(planned, program, relaxed, judged):
    """What is wrong, or an empty text."""
    least = relaxed or program
    if planned["found"] and least.is_infeasible:
        return "a plan, and no program"
    if planned["found"] and least.bound is not None and planned["seconds"] < least.bound * (1 - TOLERANCE):
        return "a plan below the program"
    if judged is None:
        return ""
    if not judged["legal"] or abs(judged["seconds"] - program.minimum) > TOLERANCE * program.minimum:
        return "the evaluator contradicts the program"
    if relaxed and judged["bytes"] > planned["limit"]:
        return ""
    for name in ("bound", "joint_bound"):
        if planned[name] > judged["seconds"] * (1 + TOLERANCE):
            return f"the {name} is above the program"
    if planned["exact"] and not (planned["found"] and planned["seconds"] <= judged["seconds"] * (1 + TOLERANCE)):
        return "the best plan is above the program"
    if relaxed is None and planned["joint_found"] and planned["joint_seconds"] < program.minimum * (1 - TOLERANCE):
        return "the joint plan is below the program"
    return ""


def show(seconds):
    return "–" if seconds is None else f"{seconds * 1e6:.6g}"


class Comparison:
    """The programs of one model, mesh and limit, and what the planner finds."""

    def __init__(self, options, problem, cluster, mesh, percent):
        self.command = [options.build / "bin/ExportMilp", problem, cluster]
        self.mesh = mesh.split("x")
        prefix = problem.parent / "program"
        self.planned = self.call(prefix, *([str(percent)] if percent < 100 else []))
        self.is_too_large = self.planned["entries"] > options.entries
        if self.is_too_large:
            return
        self.program = Program(f"{prefix}.lp", self.planned, options.seconds)
        self.relaxed = self.judged = None
        if percent < 100:
            self.relaxed = Program(f"{prefix}.relaxed.lp", self.planned, options.seconds)
        if self.program.choices is not None:
            solution = problem.parent / "solution"
            solution.write_text("\n".join(map(str, self.program.choices)))
            self.judged = self.call(solution, "judge")
        self.fault = compare(self.planned, self.program, self.relaxed, self.judged)

    def call(self, path, *arguments):
        done = subprocess.run([*self.command, path, *self.mesh, *arguments], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def get_cells(self):
        planned = self.planned
        plan = show(planned["seconds"]) if planned["found"] else "none"
        if planned["found"] and not planned["exact"]:
            plan += " (not exact)"
        program = str(self.program)
        if self.relaxed and self.judged and self.judged["bytes"] > planned["limit"]:
            program += " (too large)"
        spent = self.program.spent + (self.relaxed.spent if self.relaxed else 0)
        return [planned["choices"], planned["entries"], plan, show(planned["bound"]),
                show(planned["joint_seconds"]) if planned["joint_found"] else "none", show(planned["joint_bound"]),
                program, self.relaxed or "", f"{planned['search_seconds']:.3f}", f"{spent:.1f}", self.fault or "agrees"]


def print_row(cells):
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--build", type=pathlib.Path, default="build/release")
    parser.add_argument("--clusters", default="dgx-h100,host")
    parser.add_argument("--meshes", default="2x1,1x2,2x2,1x4", help="data by tensor ranks")
    parser.add_argument("--percents", default="100,97,90", help="limits, in percent of what the fastest plan needs; 100: none")
    parser.add_argument("--seconds", type=float, default=120, help="for each program")
    parser.add_argument("--entries", type=int, default=300000, help="leave larger programs out")
    options = parser.parse_args()
    columns = ["model", "ops", "cluster", "mesh", "limit", "choices", "entries", "plan, µs", "bound", "joint plan",
               "joint bound", "program", "relaxed", "search, s", "HiGHS, s", ""]
    print_row(columns)
    print_row(["---"] * len(columns))
    wrong = compared = 0
    for argument in options.models:
        model, *asked = argument.split(":")
        path = pathlib.Path(model)
        kind = " ".join([path.parent.name if path.stem == "model" else path.stem, *asked])
        with tempfile.TemporaryDirectory() as folder:
            problem = export_problem(options.build / "bin/parplan", model, asked, pathlib.Path(folder))
            for cluster, mesh, percent in itertools.product(
                    options.clusters.split(","), options.meshes.split(","), map(int, options.percents.split(","))):
                comparison = Comparison(options, problem, cluster, mesh, percent)
                if comparison.is_too_large:
                    print(f"{kind}, {cluster}, {mesh}: the program is too large", file=sys.stderr)
                    continue
                compared += 1
                wrong += bool(comparison.fault)
                limit = "none" if percent == 100 else f"{percent} %"
                print_row([kind, comparison.planned["ops"], cluster, mesh, limit, *comparison.get_cells()])
    print(f"{compared} compared, {wrong} wrong")
    sys.exit(1 if wrong or not compared else 0)


if __name__ == "__main__":
    main()
