"""Compiles a chain of layers in stages with tables of passes that no schedule is named for, and runs it with delays.

usage: tables.py FOLDER RUNTIME
"""
import os
import random
import subprocess
import sys

import numpy as np

POSITIONS, MICRO_BATCHES, WIDTH, TABLES = 3, 5, 7, 3
BATCH = f"tensor<2x{WIDTH}xf32>"
LAYOUT = "parplan.shardings = [#parplan.sharding<@mesh, [{}, {}]>]"


def write_chain(table, seconds, messages):
    """The step of a micro-batch: stage s makes y(s + 1) = sin(y(s) w(s)), and back its gradients."""
    whole = "#parplan.sharding<@mesh, [{}, {}]>"
    value = f"{BATCH} {{parplan.name = \"%s\", parplan.global_type = {BATCH}, parplan.sharding = {whole}}}"
    lines = [f'parplan.mesh @mesh <["pp0"={POSITIONS} pipeline]>',
             f'func.func @main(%y0: {BATCH} {{parplan.batch, parplan.name = "x", parplan.global_type = {BATCH}, parplan.sharding = {whole}}})',
             "    -> (" + ", ".join(value % f"sum{stage}" for stage in range(POSITIONS)) + ")",
             f'    attributes {{parplan.micro_batches = {MICRO_BATCHES} : i64, parplan.pipeline_schedule = "zb-h1",',
             f"      parplan.pass_seconds = array<f64: {', '.join(map(str, seconds))}>, parplan.boundary_seconds = array<f64: {', '.join(map(str, messages))}>,",
             "      parplan.pass_table = [" + ", ".join(f'"{" ".join(passes)}"' for passes in table) + "]} {"]

    def add(result, op, operands, stage, role):
        repeated = "" if op == "accumulate" else "parplan.per_micro_batch, "
        types = ", ".join([BATCH] * len(operands))
        lines.append(f'  {result} = parplan.{op} {", ".join(operands)} {{{repeated}parplan.role = "{role}", parplan.stage = {stage} : i64, '
                     f"parplan.global_type = {BATCH}, {LAYOUT}}} : {types}")

    for stage in range(POSITIONS):
        weights = np.random.default_rng(stage).normal(size=(2, WIDTH)).astype(np.float32).tolist()
        lines.append(f"  %w{stage} = parplan.constant {{parplan.global_type = {BATCH}, {LAYOUT}}} dense<{weights}> : {BATCH}")
        add(f"%p{stage}", "mul", [f"%y{stage}", f"%w{stage}"], stage, "forward")
        add(f"%y{stage + 1}", "sin", [f"%p{stage}"], stage, "forward")
    add(f"%d{POSITIONS}", "exp", [f"%y{POSITIONS}"], POSITIONS - 1, "input_gradient")
    for stage in reversed(range(POSITIONS)):
        # The first layer's value is read by all gradients: it skips stages.
        add(f"%e{stage}", "mul", [f"%d{stage + 1}", "%y1"], stage, "input_gradient")
        add(f"%d{stage}", "mul", [f"%e{stage}", f"%w{stage}"], stage, "input_gradient")
        add(f"%g{stage}", "mul", [f"%e{stage}", f"%y{stage}"], stage, "weight_gradient")
        add(f"%s{stage}", "accumulate", [f"%g{stage}"], stage, "gradient_sum")
    sums = [f"%s{stage}" for stage in range(POSITIONS)]
    lines += [f"  return {', '.join(sums)} : {', '.join([BATCH] * POSITIONS)}", "}"]
    return "\n".join(lines) + "\n"


def is_accepted(text):
    return subprocess.run(["parplan-opt", "-parplan-place-stages", "-o", os.devnull], input=text, text=True, stderr=subprocess.DEVNULL).returncode == 0


def draw_table(draw, seconds, messages, tries):
    """Neighbours change places where that is still accepted. Returns the table and how often that was so."""
    # One micro-batch after the other: forward, gradients of inputs, gradients of weights.
    table = [[f"{kind}{batch}" for batch in range(MICRO_BATCHES) for kind in ("F", "BI", "BW")] for _ in range(POSITIONS)]
    swapped = 0
    for _ in range(tries):
        passes = draw.choice(table)
        index = draw.randrange(len(passes) - 1)
        passes[index], passes[index + 1] = passes[index + 1], passes[index]
        if is_accepted(write_chain(table, seconds, messages)):
            swapped += 1
        else:
            passes[index], passes[index + 1] = passes[index + 1], passes[index]
    return table, swapped


def compile_step(text, folder, runtime):
    def run(command, text=None):
        return subprocess.run(command, input=text, text=True, check=True, stdout=subprocess.PIPE).stdout

    positions = run(["parplan-opt", "-parplan-place-stages", "-parplan-unroll-micro-batches", "-parplan-verify-unrolled", "-parplan-verify-pipeline"], text)
    # Its sums are outputs: it reads and writes files as a forward pass does.
    positions = positions.replace("parplan.micro_batches", "parplan.forward_only, parplan.micro_batches")
    program = os.path.join(folder, "exec.mlir")
    run(["parplan-opt", "-parplan-legalize-layouts", "-parplan-fuse-elementwise", "-parplan-to-exec", "-parplan-verify-programs", "-o", program], positions)
    run(["parplan-emit", program, "-order", "-o", folder, "--compile", "host", "--runtime", runtime])


def main(folder, runtime):
    data = os.path.join(folder, "x.npy")
    np.save(data, np.random.default_rng(99).normal(size=(2 * MICRO_BATCHES, WIDTH)).astype(np.float32))
    results = []
    for number in range(TABLES):
        draw = random.Random(number)
        seconds = [draw.choice([0.5, 1.0, 1.5, 3.0]) for _ in range(3 * POSITIONS)]
        messages = [draw.choice([0.5, 1.0, 2.0]) for _ in range(POSITIONS - 1)]
        table, swapped = draw_table(draw, seconds, messages, tries=25 if number else 0)
        own = os.path.join(folder, str(number))
        os.makedirs(os.path.join(own, "out"))
        compile_step(write_chain(table, seconds, messages), own, runtime)
        command = [os.path.join(own, "program"), "--input", "x=" + data, "--output-dir", os.path.join(own, "out")]
        subprocess.run(command, check=True, env={**os.environ, "PARPLAN_CHAOS": str(number)})
        results.append([np.load(os.path.join(own, "out", f"sum{stage}.npy")).tobytes() for stage in range(POSITIONS)])
        print(f"table {number}:", "unnamed" if swapped else "one after the other",
              "the same bits" if results[-1] == results[0] and any(map(any, results[0])) else "other bits")


if __name__ == "__main__":
    main(*sys.argv[1:])
