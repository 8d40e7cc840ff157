#!/usr/bin/env python3
"""Exports small models of many families from PyTorch, runs them on ranks, and compares with ONNX Runtime.

  benchmarks/families.py export DIR [--only t5,unet] [--exporter dynamo:18 ...]
  benchmarks/families.py run DIR --parplan build/release/bin/parplan [--only t5,unet] [--ranks 1,3,4]
                         [--force dp=2,tp1d=2] [--train] [--table FILE]

`export` needs torch, transformers, onnx, onnxscript and onnxruntime, `run` only numpy. Models are in family_models.py, with
random weights. dynamo:OPSET is the exporter of torch.export, optimize:OPSET the same with its optimiser, script:OPSET the
older one of TorchScript. Under DIR is a folder for each model: model.onnx, its inputs, what ONNX Runtime computes of them,
and case.json as accept.py reads it; a model which PyTorch cannot export, or ONNX Runtime cannot run, has refused.txt instead.

A run passes when every output differs by at most 2e-5 of its largest value, and bytes, order of communication and peaks
of memory are the predicted ones. With --train, the losses of three steps are PyTorch's to 2e-5.
Prints a line for each; --table writes a table of docs/benchmarks.md. Ends with 1 when one failed.
"""
import argparse
import json
import os
import sys
import tempfile
import time

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "Execution"))
from forced import Difference, expect  # noqa: E402
from run_inference import execute, read_json  # noqa: E402

EXPORTERS = ["dynamo:18", "optimize:23", "script:17", "script:10"]
OUTPUT_TOLERANCE = 2e-5


# --- export --------------------------------------------------------------------------------------------------------------

def randomise(module):
    """Every parameter differs from every other, biases and norms included, so that a mix-up shows."""
    import torch
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.05)
        for name, buffer in module.named_buffers():
            if name.endswith("running_mean"):
                buffer.add_(torch.randn(buffer.shape, generator=generator) * 0.1)
            if name.endswith("running_var"):
                buffer.mul_(1 + torch.rand(buffer.shape, generator=generator))


def build(family, spelled_out=False):
    """The module and its inputs. Models of transformers have attention as one operator of PyTorch, or spelled out."""
    import torch
    import transformers
    torch.manual_seed(11)
    module = family.make().eval()
    if spelled_out and isinstance(getattr(module, "model", None), transformers.PreTrainedModel):
        module.model.set_attn_implementation("eager")
    randomise(module)
    torch.manual_seed(5)
    return module, {name: make() for name, make in family.inputs.items()}


def write_model(family, module, inputs, path, exporter):
    import torch
    kind, opset = exporter.split(":")
    arguments = dict(opset_version=int(opset), input_names=list(inputs), output_names=list(family.outputs))
    if kind == "script":
        torch.onnx.export(module, tuple(inputs.values()), path, dynamo=False, dynamic_axes=family.options.get("dynamic"),
                          **arguments)
    else:
        program = torch.onnx.export(module, tuple(inputs.values()), dynamo=True, optimize=kind == "optimize", verbose=False,
                                    **arguments)
        program.save(path)


def train(family, exporter, folder, case, initializers):
    """Writes labels, and the losses of a few steps of gradient descent in PyTorch."""
    import torch
    module, inputs = build_for(family, exporter)
    loss_kind, steps, rate = family.options.get("loss", "cross-entropy"), 3, 0.05
    optimizer, losses, labels = torch.optim.SGD(module.parameters(), lr=rate), [], None
    for _ in range(steps):
        result = module(*inputs.values())
        result = result[0] if isinstance(result, tuple) else result
        if labels is None:
            torch.manual_seed(3)
            labels = torch.randint(0, result.shape[-1], result.shape[:-1]) if loss_kind == "cross-entropy" \
                else torch.randn(result.shape)
        loss = torch.nn.functional.mse_loss(result, labels) if loss_kind == "mse" \
            else torch.nn.functional.cross_entropy(result.reshape(-1, result.shape[-1]), labels.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    data = os.path.join(folder, "data")
    os.makedirs(data, exist_ok=True)
    numpy.save(os.path.join(data, "labels.npy"), labels.numpy())
    for key in case["inputs"]:
        numpy.save(os.path.join(data, f"{key}.npy"), inputs[key].numpy())
    buffers = {name for name, _ in module.named_buffers()}
    buffers |= {name for name, parameter in module.named_parameters() if not parameter.requires_grad}
    return {"loss": f"{loss_kind}:{family.outputs[0]}", "optimizer": f"sgd:lr={rate}", "steps": steps, "losses": losses,
            "freeze": sorted(buffers & initializers)}


def build_for(family, exporter):
    # Exporters have attention from opset 14 on; some layouts of it they do not take at all.
    return build(family, family.options.get("spelled_out") or int(exporter.split(":")[1]) < 14)


def export_one(name, family, exporter, folder):
    import onnx
    import onnxruntime
    import torch
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    module, inputs = build_for(family, exporter)
    write_model(family, module, inputs, path, exporter)
    model = onnx.load(path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    known = {value.name for value in session.get_inputs()}
    given = {key: tensor.numpy() for key, tensor in inputs.items() if key in known}
    for key, array in given.items():
        numpy.save(os.path.join(folder, f"{key}.npy"), array)
    with torch.no_grad():
        expected = module(*inputs.values())
    expected = expected if isinstance(expected, tuple) else (expected,)
    for key, array, tensor in zip(family.outputs, session.run(None, given), expected, strict=True):
        difference = float(numpy.abs(array - tensor.numpy()).max() / numpy.abs(array).max())
        if difference > 1e-4:
            raise ValueError(f"the exported {key} differs from PyTorch's by {difference:.1e} in ONNX Runtime")
        numpy.save(os.path.join(folder, f"{key}.npy"), array)
    case = {"name": os.path.basename(folder), "family": name, "exporter": exporter, "nodes": len(model.graph.node),
            "inputs": {key: f"{key}.npy" for key in given}, "outputs": {key: f"{key}.npy" for key in family.outputs},
            "dims": family.options.get("dims", {}) if exporter.startswith("script") else {},
            "operators": sorted({node.op_type for node in model.graph.node}), "train": []}
    # The older exporter writes tied weights twice, one of them transposed: what is trained then is another model.
    if family.options.get("loss", "") is not None and not exporter.startswith("script"):
        known = {value.name for value in model.graph.initializer}
        case["train"].append(train(family, exporter, folder, case, known))
    with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
        json.dump(case, file, indent=1)


def export(options):
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import logging
    import warnings
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import torch

    from family_models import FAMILIES
    torch.set_num_threads(2)
    for name in options.only or FAMILIES:
        for exporter in options.exporter:
            folder = os.path.join(options.folder, f"{name}-{exporter.replace(':', '')}")
            started = time.monotonic()
            try:
                export_one(name, FAMILIES[name], exporter, folder)
                note = "exported"
            except Exception as error:  # noqa: BLE001 - whatever an exporter raises, the others go on
                note = f"{type(error).__name__}: {error}".strip().replace("\n", " ")[:300]
                with open(os.path.join(folder, "refused.txt"), "w", encoding="utf-8") as file:
                    file.write(note)
            print(f"{name} {exporter}: {note} ({time.monotonic() - started:.1f} s)", flush=True)


# --- run -----------------------------------------------------------------------------------------------------------------

def check_prediction(plan, metrics, steps=1):
    """Communication in bytes and order, and the peaks of memory, are the predicted ones."""
    predicted = plan["predicted"]
    for rank, (want, have) in enumerate(zip(predicted["communication"]["per_rank"], metrics["communication"]["per_rank"],
                                            strict=True)):
        want = {kind: {key: steps * count for key, count in row.items()} for kind, row in want.items()}
        want, have = ({kind: row for kind, row in document.items() if row["calls"]} for document in (want, have))
        expect(want == have, f"rank {rank}: communication {want} was predicted, {have} measured")
    expect(predicted["communication"]["order_sha256"] == metrics["communication"]["order_sha256"],
           "the order of communication is not the predicted one")
    expect(predicted["peak_memory_bytes"]["per_rank"] == metrics["peak_memory_bytes"]["per_rank"],
           f"peaks {predicted['peak_memory_bytes']['per_rank']} were predicted, "
           f"{metrics['peak_memory_bytes']['per_rank']} measured")


def compare_outputs(case, folder, results):
    """Returns the largest relative difference of any output."""
    largest = 0.0
    for name, file in case["outputs"].items():
        expected = numpy.load(os.path.join(folder, file)).astype(numpy.float64)
        result = numpy.load(os.path.join(results, f"{name}.npy")).astype(numpy.float64)
        expect(result.shape == expected.shape, f"output {name} has shape {result.shape}, expected {expected.shape}")
        difference = numpy.abs(result - expected).max() / numpy.abs(expected).max()
        expect(difference <= OUTPUT_TOLERANCE, f"output {name} differs by {difference:.2e}, at most {OUTPUT_TOLERANCE:.0e}")
        largest = max(largest, difference)
    return largest


def compile_model(options, folder, case, ranks, out, extra=()):
    command = [options.parplan, os.path.join(folder, "model.onnx"), "--gpus", str(ranks), "--target", "host", "-o", out, *extra]
    for name, value in case["dims"].items():
        command += ["--dim", f"{name}={value}"]
    if options.force and ranks > 1:
        command += ["--force", options.force]
    execute(command)


def run_case(options, folder, case, ranks, work):
    out, results, metrics = (os.path.join(work, name) for name in ("out", "results", "metrics.json"))
    compile_model(options, folder, case, ranks, out)
    command = [os.path.join(out, "program"), "--ranks", str(ranks), "--output-dir", results, "--metrics", metrics]
    for name, file in case["inputs"].items():
        command += ["--input", f"{name}={os.path.join(folder, file)}"]
    execute(command)
    difference = compare_outputs(case, folder, results)
    check_prediction(read_json(os.path.join(out, "plan.json")), read_json(metrics))
    return difference


def train_case(options, folder, case, ranks, work):
    """Losses of all steps are PyTorch's."""
    task = case["train"][0]
    out, metrics = os.path.join(work, "out"), os.path.join(work, "metrics.json")
    extra = ["--train", "--loss", task["loss"], "--optimizer", task["optimizer"]]
    for name in task["freeze"]:
        extra += ["--freeze", name]
    compile_model(options, folder, case, ranks, out, extra)
    execute([os.path.join(out, "program"), "--ranks", str(ranks), "--metrics", metrics, "--steps", str(task["steps"]),
             "--data", os.path.join(folder, "data")])
    measured = read_json(metrics)
    difference = max(abs(have - want) / abs(want) for have, want in zip(measured["loss"], task["losses"], strict=True))
    expect(difference <= OUTPUT_TOLERANCE, f"losses {measured['loss']}, expected {task['losses']}")
    check_prediction(read_json(os.path.join(out, "plan.json")), measured, task["steps"])
    return difference


def write_table(path, cells, exporters):
    """A row for each family: the largest difference on any number of ranks, by exporter."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("| family | " + " | ".join(exporters) + " |\n" + "|---" * (1 + len(exporters)) + "|\n")
        for family in sorted({family for family, _ in cells}):
            file.write(f"| {family} | " + " | ".join(cells.get((family, exporter), "–") for exporter in exporters) + " |\n")


def run(options):
    cells, runs, failed = {}, 0, 0
    for name in sorted(os.listdir(options.folder)):
        folder = os.path.join(options.folder, name)
        if not os.path.exists(os.path.join(folder, "case.json")):
            continue
        case = read_json(os.path.join(folder, "case.json"))
        if options.only and case["family"] not in options.only or case["exporter"] not in options.exporter \
                or options.train and not case["train"]:
            continue
        largest, failures = 0.0, []
        for count in options.ranks:
            started = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="families-") as work:
                try:
                    difference = (train_case if options.train else run_case)(options, folder, case, count, work)
                    largest, note = max(largest, difference), f"{difference:.1e}"
                except Difference as difference:
                    failures.append(str(count))
                    note = f"FAILED, {difference}"
            print(f"{name} {count}: {note} ({time.monotonic() - started:.1f} s)", flush=True)
        runs, failed = runs + len(options.ranks), failed + len(failures)
        cells[case["family"], case["exporter"]] = f"fails on {', '.join(failures)}" if failures else f"{largest:.1e}"
    if options.table:
        write_table(options.table, cells, options.exporter)
    print(f"{len(cells)} models, {runs - failed} runs passed, {failed} failed")
    return 1 if failed or not cells else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("export", "run"))
    parser.add_argument("folder")
    parser.add_argument("--only", type=lambda text: text.split(","), help="these families")
    parser.add_argument("--exporter", action="append", help=f"these exporters, default {' '.join(EXPORTERS)}")
    parser.add_argument("--parplan", default="parplan")
    parser.add_argument("--ranks", type=lambda text: [int(count) for count in text.split(",")], default=[1, 3, 4])
    parser.add_argument("--force", help="forced on more than one rank, as parplan takes it")
    parser.add_argument("--train", action="store_true", help="train instead, and compare losses with PyTorch's")
    parser.add_argument("--table", help="write a table in Markdown")
    options = parser.parse_args()
    options.exporter = options.exporter or EXPORTERS
    return export(options) if options.what == "export" else run(options)


if __name__ == "__main__":
    sys.exit(main())
