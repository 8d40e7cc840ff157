#!/usr/bin/env python3
"""Compares the best plan with the published configurations of Megatron-LM, with the best plan in which all layers are
alike, and with the best without grids of tensor axes, all in one cost model. Where a figure has a star, time was over
before the search ended.

    cmake --build --preset release --target JointSearch
    benchmarks/published/dominance.py rows --data FOLDER_OF_PUBLISHED --program build/release/bin/JointSearch --results FILE
    benchmarks/published/dominance.py dimensions --program build/release/bin/JointSearch --results FILE \\
        gpt2-124m.onnx:8:dgx-h100:64 ...

Nothing is lowered: every figure is a search and the evaluator's time of its plan. Searches whose result FILE (one JSON
document a line) has are not repeated, so that a long series can go on. `dimensions` plans MODEL:GPUS:CLUSTER:BATCH with all,
and with one dimension of the space left out at a time."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from gpt_model import write_gpt
from plans import get_force
from runs import get_rows

DIMENSIONS = ["data", "tensor", "grids", "sequence", "context", "zero", "pipeline", "interleaving", "zero-bubble", "recompute"]
SIZES = ["layers", "hidden", "heads", "ffn", "vocabulary", "length"]
# Of a configuration that needs more memory than there is, the step is still worth knowing.
ANY_MEMORY = 10**13


class Searches:
    """Searches of JointSearch, and a file of what they found."""

    def __init__(self, program, results, budget):
        self.program, self.path, self.budget = program, pathlib.Path(results), budget
        self.known = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                entry = json.loads(line)
                self.known[entry["key"]] = entry["found"]

    def run(self, model, gpus, cluster, batch, arguments):
        command = [self.program, str(model), str(gpus), cluster, str(batch), str(self.budget), "--json", *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            return {"seconds": None, "refusals": [lines[-1] if lines else f"exit {done.returncode}"]}
        return json.loads(done.stdout)

    def get(self, name, make_model, gpus, cluster, batch, arguments=()):
        """`make_model` gives the path of the model, and is called only where something is searched."""
        key = " ".join([name, str(gpus), cluster, str(batch), *arguments])
        if key not in self.known:
            self.known[key] = self.run(make_model(), gpus, cluster, batch, arguments)
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "budget": self.budget, "found": self.known[key]}) + "\n")
            print(f"{key}: {self.known[key]['seconds']}", file=sys.stderr, flush=True)
        return self.known[key]


def make_table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def format_seconds(found):
    if found["seconds"] is None:
        return "none"
    return f"{found['seconds']:.4g}" + (" \\*" if found["cut_short"] else "")


def compare(found, best):
    """By how much a plan is slower than the best one."""
    if found["seconds"] is None or best["seconds"] is None:
        return "–"
    return f"{100 * (found['seconds'] / best['seconds'] - 1):+.1f} %"


def describe(found):
    if found["seconds"] is None:
        return "; ".join(found["refusals"])
    plan, short = found["plan"], {"pipeline": "pp", "data": "dp", "context": "cp", "expert": "ep", "tensor": "tp"}
    parts = [f"{short[role]}={size}" for role, size in plan["mesh"].items()]
    parts += [plan["schedule"]] if "schedule" in plan else []
    parts.append(f"m={plan['micro_batches']}")
    grids = sum(plan["products"].get(name, 0) for name in ("summa2d", "gather2d", "2.5d", "3d"))
    if grids:
        parts.append(f"{grids} of {sum(plan['products'].values())} products on grids")
    stored = {stage: count for stage, count in plan["zero_stages"].items() if stage != "0"}
    if stored:
        parts.append("ZeRO " + "/".join(sorted(stored)))
    if plan["recomputed_ops"]:
        parts.append(f"{round(100 * plan['recomputed_ops'] / plan['forward_ops'])} % made again")
    return ", ".join(parts)


def compare_row(searches, row, folder):
    run = row.run
    batch = run["micro_batch"] * run["micro_batches"] * run["replicas"]
    cluster = run["cluster"].split(" ")[0]
    name = " ".join(f"{key}={run[key]}" for key in SIZES)

    def make_model():
        path = folder / (name.replace(" ", ",") + ".onnx")
        if not path.exists():
            write_gpt(path, **{key: run[key] for key in SIZES})
        return path

    def search(*arguments):
        return searches.get(name, make_model, run["gpus"], cluster, batch, ("--precision", run["precision"], *arguments))

    force = ("--force", get_force(run))
    theirs, note = search(*force), ""
    if theirs["seconds"] is None:
        theirs = search(*force, "--memory-limit", str(ANY_MEMORY))
        if theirs["seconds"] is not None:
            note = f" (needs {theirs['plan']['peak_bytes'] / 1e9:.0f} GB)"
    best, uniform, plain = search(), search("--uniform"), search("--without", "grids")
    gap = f"{100 * best['gap']:.1f} %" if best["seconds"] is not None else "–"
    both = theirs["seconds"] is not None and best["seconds"] is not None
    return [f"{row.source} {row.name}", str(run["gpus"]), format_seconds(theirs) + note, format_seconds(best),
            f"{theirs['seconds'] / best['seconds']:.3f}" if both else "–", gap,
            f"{format_seconds(uniform)} ({compare(uniform, best)})", f"{format_seconds(plain)} ({compare(plain, best)})",
            describe(best)]


def compare_rows(searches, options):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in get_rows(options.data):
            is_of_table = row.source in ("SC21", "MLSys22") and "2,240" not in row.name
            if is_of_table and options.match in row.name:
                rows.append(compare_row(searches, row, pathlib.Path(folder)))
    print(make_table(["row", "GPUs", "Megatron-LM s", "parplan s", "ratio", "gap", "uniform s", "1D only s", "plan"], rows))


def compare_dimensions(searches, options):
    rows = []
    for text in options.models:
        path, gpus, cluster, batch = text.rsplit(":", 3)
        place = (pathlib.Path(path).stem, lambda path=path: path, int(gpus), cluster, int(batch))
        best = searches.get(*place)
        cells = [f"{place[0]}, {gpus} x {cluster}, batch {batch}", format_seconds(best)]
        for dimension in DIMENSIONS:
            cells.append(compare(searches.get(*place, ("--without", dimension)), best))
        cells.append(compare(searches.get(*place, ("--uniform",)), best))
        rows.append(cells)
    # One column per model reads better than one per dimension.
    titles = ["", "all, s", *(f"without {name}" for name in DIMENSIONS), "all layers alike"]
    table = [[title, *(row[place] for row in rows)] for place, title in enumerate(titles)]
    print(make_table(table[0], table[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rows", "dimensions"])
    parser.add_argument("models", nargs="*", metavar="MODEL:GPUS:CLUSTER:BATCH")
    parser.add_argument("--data", help="for rows: the published figures")
    parser.add_argument("--match", default="", help="only rows whose name has this text")
    parser.add_argument("--program", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("--budget", type=int, default=60, help="seconds of a search")
    options = parser.parse_intermixed_args()
    searches = Searches(options.program, options.results, options.budget)
    (compare_rows if options.what == "rows" else compare_dimensions)(searches, options)


if __name__ == "__main__":
    main()
