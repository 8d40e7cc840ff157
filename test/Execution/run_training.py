#!/usr/bin/env python3
"""Plans, compiles and runs training steps on host ranks, and compares with what PyTorch computed and with the plan.

Every training run of a model's case.json runs in the first two configurations below, the first run in all of them. A run
passes when
  * the loss of every step is PyTorch's within 2e-5, the global gradient norm within 1e-4 (relative);
  * where PyTorch's weights after the last step are at hand, the saved ones differ from them by at most 1e-3 of the update;
  * calls, bytes and order of communication and the peak of memory, on every rank, are the predicted ones, exactly;
  * no arena is more than 2.5 % above the most bytes in it that are in use at once;
  * the plan does what --force asked for, and so does its communication.
With --strategies the first run trains in the model's configurations of STRATEGIES instead: tensor parallelism in several
dimensions, sequence, context and expert parallelism, mixtures of them by operator, pipelines, recomputation and offload.
With --precision the losses of a run in that precision are compared with those of the same run in fp32, over 20 steps.
Ends with 1 when a run failed.
"""
import argparse
import json
import os
import struct
import tempfile

import numpy

from forced import Forced, expect
from run_inference import check_prediction, execute, read_json
from verdicts import Verdicts

CONFIGURATIONS = [(1, ""), (4, "dp=2,tp1d=2,micro-batches=2"), (2, "dp=2,zero=1"), (4, "dp=4,zero=3"), (3, "dp=3")]
HERE = os.path.dirname(os.path.abspath(__file__))
# Causal rings are planned for slow devices: there it pays that their order is zig-zag.
SLOW_HOST = ("--cluster", os.path.join(HERE, "slow_host.json"))
SLOW_PAIRS = ("--cluster", os.path.join(HERE, "slow_pairs.json"))
# So little memory that what waits for gradients of weights is limited, where test_documents.py looks at that plan, too.
ROOM = ("--memory-limit", "1650K")
# Ranks, what is forced, and other options.
STRATEGIES = {
    "gpt2-dynamic": [(6, "tp2d=2x3"), (8, "tp2.5d=2x2x2"), (2, "tp1d=2,sp=off"), (4, "cp=2,tp1d=2,node:*attention*:ring", *SLOW_HOST),
        (8, "pp=2,dp=2,tp1d=2,micro-batches=2,schedule=1f1b,zero=2,recompute=full,offload=optimizer:cpu"),
        (4, "pp=4,micro-batches=8,schedule=zb-h1"),
        (4, "pp=4,micro-batches=8,schedule=zb-h1", *ROOM), (4, "parameter-server=sync,micro-batches=2"),
        (6, "parameter-server=sync,servers=2")],
    "llama-train": [
        # Attention in one dimension, the rest of the block in two.
        (4, "node:node_linear:column,node:node_linear_1:column,node:node_linear_2:column,node:node_linear_3:row,"
            "node:node_linear_4:summa2d,node:node_linear_5:summa2d,node:node_linear_6:summa2d"),
        # One block in three dimensions, the next by SUMMA.
        (8, "node:node_linear:3d,node:node_linear_1:3d,node:node_linear_2:3d,node:node_linear_3:3d,node:node_linear_4:3d,"
            "node:node_linear_5:3d,node:node_linear_6:3d,node:node_linear_7:summa2d,node:node_linear_8:summa2d,"
            "node:node_linear_9:summa2d,node:node_linear_10:summa2d,node:node_linear_11:summa2d,node:node_linear_12:summa2d,"
            "node:node_linear_13:summa2d"),
        (4, "cp=4,node:*attention*:ring", *SLOW_HOST), (2, "cp=2,micro-batches=2,node:*attention*:ring", *SLOW_HOST), (4, "dp=2,cp=2,node:*attention*:all-to-all"),
        # Variables are stored over data and context axes alike.
        (2, "cp=2,zero=1"), (4, "dp=2,cp=2,micro-batches=2,zero=2"), (4, "dp=2,cp=2,zero=3"),
        (2, "pp=2,micro-batches=4,schedule=interleaved:2"), (4, "pp=2,dp=2,zero=2,micro-batches=4,schedule=interleaved:2"),
        (4, "pp=2,dp=2,micro-batches=2,zero=3,recompute=selective,offload=activations:cpu"),
        (8, "pp=2,dp=2,tp1d=2,micro-batches=2,zero=1,offload=optimizer:cpu"),
        (3, "parameter-server=sync,cp=2,micro-batches=2")],
    "vit-train": [
        (4, "node:node_MatMul_27:column,node:node_MatMul_35:column,node:node_MatMul_43:column,node:node_MatMul_90:row,"
            "node:node_MatMul_92:summa2d,node:node_MatMul_101:gather2d"),
        (8, "tp3d=2x2x2"), (2, "pp=2,micro-batches=4,schedule=zb-v"), (1, "offload=parameters:nvme")],
    "bert-train": [(3, "cp=3,node:*attention*:ring", *SLOW_HOST), (4, "dp=2,tp1d=2,sp=on"), (8, "tp2d=2x2,dp=2"),
                   (3, "pp=3,micro-batches=4,schedule=v-half"),
                   # Data axes within and between nodes divide neither the samples nor the parameters.
                   (6, "dp=6,zero=3", *SLOW_PAIRS)],
    "experts-gather-train": [(2, "ep=2"), (4, "ep=2,tp1d=2")],
    # Biases of experts in rows of groups, split over experts and over tokens.
    "experts-bias-train": [(2, "ep=2"), (3, "dp=3"), (2, "cp=2"), (4, "ep=2,tp1d=2"), (2, "pp=2,micro-batches=2,schedule=1f1b"),
                           (2, "dp=2,zero=3,offload=optimizer:cpu")],
    # Stacks of the experts' weights: in pieces, on the host, split unevenly, and in a stage.
    "experts-loop-train": [(2, "ep=2"), (4, "ep=4"), (4, "ep=2,dp=2"), (4, "ep=2,tp1d=2"), (3, "ep=3"),
                           (2, "dp=2,zero=3,offload=parameters:cpu"), (4, "ep=2,dp=2,zero=2,offload=optimizer:cpu"),
                           (4, "pp=2,ep=2,micro-batches=2,schedule=1f1b")],
    "mixtral-train": [(4, "ep=2,dp=2"), (4, "ep=2,dp=2,zero=1"), (4, "ep=2,tp1d=2"), (4, "tp2d=2x2"), (2, "cp=2"),
                      (4, "pp=2,ep=2,micro-batches=2,schedule=1f1b"), (2, "dp=2,zero=3,offload=optimizer:nvme")],
}
LOSS_TOLERANCE = 2e-5
NORM_TOLERANCE = 1e-4
UPDATE_TOLERANCE = 1e-3
PRECISION_STEPS = 20
PRECISION_TOLERANCE = 0.02


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        content = file.read()
    arrays = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            arrays[name] = numpy.frombuffer(content[start:end], numpy.float32).reshape(entry["shape"])
    return arrays


def check_series(name, values, expected, tolerance):
    expect(len(values) == len(expected), f"{len(values)} of {name} for {len(expected)} steps")
    for step, (value, wanted) in enumerate(zip(values, expected)):
        expect(abs(value - wanted) <= tolerance * abs(wanted), f"{name} of step {step} is {value:.7g}, PyTorch's {wanted:.7g}")


def check_weights(saved, initial, expected):
    """Returns how far the updates of all parameters together are off, relative to PyTorch's."""
    error = norm = 0.0
    for name in expected.files:
        expect(name in saved, f"{name} is not in the saved weights")
        off = saved[name].astype(numpy.float64) - expected[name]
        moved = expected[name].astype(numpy.float64) - initial[name]
        error, norm = error + (off ** 2).sum(), norm + (moved ** 2).sum()
    relative = (error / norm) ** 0.5
    expect(relative <= UPDATE_TOLERANCE, f"the update is off by {relative:.1e}, at most {UPDATE_TOLERANCE:.0e}")
    return relative


def compile_step(parplan, folder, case, task, ranks, specification, precision, out, *others):
    """Returns the plan. `others` are further options."""
    command = [parplan, os.path.join(folder, "model.onnx"), "--gpus", str(ranks), "--target", "host", "-o", out, "--train",
               "--loss", task["loss"], "--optimizer", task["optimizer"], "--global-batch", str(task["global_batch"]),
               "--precision", precision, "--report-gradient-norm"]
    if task.get("clip_norm"):
        command += ["--clip-norm", str(task["clip_norm"])]
    for name, value in case["dims"].items():
        if name != "batch":
            command += ["--dim", f"{name}={value}"]
    if specification:
        command += ["--force", specification]
    execute(command + list(others))
    plan = read_json(os.path.join(out, "plan.json"))
    Forced(specification).check_plan(plan, ranks)
    expect(":ring" not in specification or plan["config"].get("sequence", {"zigzag": 2})["zigzag"] > 1, "a causal ring is in the model's order")
    expect(others != ROOM or "waiting_room_bytes" in plan["config"], "nothing limits what waits for gradients of weights")
    return plan


def train(folder, task, ranks, steps, out, saved):
    """Returns the metrics."""
    metrics = os.path.join(out, "metrics.json")
    execute([os.path.join(out, "program"), "--ranks", str(ranks), "--data", os.path.join(folder, task["data"]),
             "--steps", str(steps), "--metrics", metrics, "--save", saved])
    return read_json(metrics)


def run(parplan, folder, case, task, ranks, specification, others, work):
    out, saved = os.path.join(work, "out"), os.path.join(work, "trained.safetensors")
    plan = compile_step(parplan, folder, case, task, ranks, specification, "fp32", out, *others)
    steps = len(task["losses"])
    metrics = train(folder, task, ranks, steps, out, saved)
    Forced(specification).check_communication(metrics)
    check_series("the loss", metrics["loss"], task["losses"], LOSS_TOLERANCE)
    check_series("the gradient norm", metrics["gradient_norm"], task["gradient_norms"], NORM_TOLERANCE)
    verdict = "losses and norms are PyTorch's"
    if os.path.exists(os.path.join(folder, task["weights"])):
        off = check_weights(read_safetensors(saved), numpy.load(os.path.join(folder, "initial.npz")),
                            numpy.load(os.path.join(folder, task["weights"])))
        verdict += f", update off by {off:.1e}"
    for row in metrics["communication"]["per_rank"]:
        for count in row.values():
            for key in ("calls", "bytes"):
                expect(count[key] % steps == 0, "steps differ in their communication")
                count[key] //= steps
    for row in metrics["offload"]["per_rank"]:
        for key, value in row.items():
            expect(value % steps == 0, "steps differ in what they move between tiers")
            row[key] = value // steps
    check_prediction(plan, metrics, ranks)
    return verdict


def compare_precisions(parplan, folder, case, task, ranks, specification, others, precision, work):
    losses = []
    for each in ("fp32", precision):
        out = os.path.join(work, each)
        compile_step(parplan, folder, case, task, ranks, specification, each, out, *others)
        losses.append(train(folder, task, ranks, PRECISION_STEPS, out, os.path.join(work, "trained.safetensors"))["loss"])
    wanted, narrow = losses
    expect(len(wanted) == len(narrow) == PRECISION_STEPS, f"{len(narrow)} losses for {PRECISION_STEPS} steps")
    expect(narrow != wanted, f"the losses of {precision} are those of fp32, bit for bit")
    off = max(abs(value / reference - 1) for value, reference in zip(narrow, wanted))
    expect(off <= PRECISION_TOLERANCE, f"a loss is off by {off:.1e}, at most {PRECISION_TOLERANCE:.0e}")
    return f"losses of {precision} are off by {off:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parplan", required=True, help="the program parplan")
    parser.add_argument("--models", required=True, help="folder with one folder per model")
    parser.add_argument("--case", action="append", required=True, help="the model; repeatable")
    parser.add_argument("--run", action="append", type=int, help="only this training run of the model; repeatable")
    parser.add_argument("--configuration", action="append", help="only this one, e.g. '4:dp=2,tp1d=2' or '3:'; repeatable")
    parser.add_argument("--strategies", action="store_true", help="in the model's configurations of STRATEGIES")
    parser.add_argument("--precision", choices=("bf16", "fp16"), help="compare with fp32 instead of with PyTorch")
    options = parser.parse_args()
    parplan = os.path.abspath(options.parplan)
    configurations = [(int(ranks), specification) for ranks, specification in
                      (text.split(":", 1) for text in options.configuration)] if options.configuration else CONFIGURATIONS

    verdicts = Verdicts()
    for name in options.case:
        folder = os.path.join(options.models, name)
        case = read_json(os.path.join(folder, "case.json"))
        if options.strategies:
            configurations = STRATEGIES[name]
        for index, task in enumerate(case["train"][:1] if options.strategies else case["train"]):
            if options.run and index not in options.run:
                continue
            for ranks, specification, *others in configurations if index == 0 or options.run else configurations[:2]:
                step = (parplan, folder, case, task, ranks, specification, others)

                def check(step=step):
                    with tempfile.TemporaryDirectory(prefix="parplan-") as work:
                        if options.precision:
                            return compare_precisions(*step, options.precision, work)
                        return run(*step, work)

                verdicts.check(f"{name}, {task['optimizer']}, {ranks} ranks, {' '.join([specification or 'nothing forced', *others])}", check)
    verdicts.end()


if __name__ == "__main__":
    main()
