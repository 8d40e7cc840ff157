"""The published runs, as PublishedRuns reads them, with the stack and cluster that each of them had.

A stack says what the software of the source did and where that is documented; nothing in it is fitted."""

import dataclasses
import json
import pathlib

A100_PEAK = 312e12


@dataclasses.dataclass
class Row:
    source: str
    name: str
    run: dict
    # What is compared, of the answer of PublishedRuns, and the measured seconds.
    quantity: str
    seconds: float
    # Share in the fit; 0: predicted only.
    weight: float
    note: str = ""


@dataclasses.dataclass
class Source:
    name: str
    stack: str
    weight: float


SOURCES = {
    "SC21": Source("Narayanan et al., SC21, Table 1", "megatron-2021", 1.0),
    "MLSys22": Source("Korthikanti et al., MLSys 2022, Table 5 and 2,240 GPUs", "megatron-2022", 1.0),
    "Table 4": Source("Korthikanti et al., Table 4: one layer of 22B", "megatron-2022", 0.7),
    "2020": Source("Megatron-LM, September 2020, A100", "megatron-2021-data-parallel", 0.6),
    "2020 V100": Source("Megatron-LM, September 2020, V100 (never fitted)", "megatron-2021-data-parallel", 0.0),
    "MPT": Source("MosaicML llm-foundry, FSDP", "llm-foundry-fsdp", 0.4),
    "Azure": Source("DeepSpeed ZeRO-3 on Azure (read off a chart; its network share alone is fitted)", "deepspeed-zero-3", 0.0),
}

# Against the trend of all others of their table: reported, not fitted.
ODD = {("MPT-30b", 8192), ("MPT-760m", 1024), ("MPT-760m", 512)}


def load(data, name):
    rows = json.loads((data / name).read_text())
    return [row for row in rows if row["kind"] == "measurement" and row["quality"] in ("ok", "raw")]


def describe(row, cluster, vocabulary=None, **other):
    model, config = row["model"], row["config"]
    tensor, positions, replicas = config["tp"] or 1, config["pp"] or 1, config["dp"] or 1
    recompute = config["recompute"] or "none"
    run = {
        "cluster": cluster, "gpus": row["cluster"]["gpus"], "layers": model["layers"], "hidden": model["hidden"],
        "heads": model["heads"], "ffn": model["ffn"], "vocabulary": model["vocab"] or vocabulary,
        "length": model["seq"], "tensor": tensor, "positions": positions, "replicas": replicas,
        "chunks": config["interleave"] or 1, "micro_batch": config["microbatch"],
        "micro_batches": config["global_batch"] // (replicas * config["microbatch"]),
        "splits_sequence": bool(config["sp"]), "zero_stage": config["zero_stage"] or 0,
        "recompute": "selective" if recompute.startswith("selective") else recompute, "precision": "fp16",
        "gradient_bytes": 2, "accumulation_bytes": 6, "loss_bytes": 36, "is_layer": False,
    }
    assert run["micro_batches"] * replicas * config["microbatch"] == config["global_batch"], row
    run.update(other)
    return run


def get_hardware_seconds(row):
    """From TFLOP/s that count the recomputed forward pass, without the head where the vocabulary is not known."""
    model, batch = row["model"], row["config"]["global_batch"]
    hidden, length, layers = model["hidden"], model["seq"], model["layers"]
    head = (model["vocab"] or 0) / (16 * layers * hidden)
    flops = 96 * batch * length * layers * hidden**2 * (1 + length / (6 * hidden) + head)
    return flops / (row["cluster"]["gpus"] * row["measured"]["tflops_per_gpu"] * 1e12)


def get_model_seconds(row):
    """From the share of the peak that the model's own operations reach."""
    model, batch = row["model"], row["config"]["global_batch"]
    hidden, length, layers = model["hidden"], model["seq"], model["layers"]
    flops = 72 * batch * length * layers * hidden**2
    flops *= 1 + length / (6 * hidden) + model["vocab"] / (12 * layers * hidden)
    return flops / (row["cluster"]["gpus"] * A100_PEAK * row["measured"]["mfu"])


def get_rows(folder):
    data = pathlib.Path(folder)
    rows = []

    def add(source, name, run, quantity, seconds, weight=None, note=""):
        weight = SOURCES[source].weight if weight is None else weight
        rows.append(Row(source, name, run, quantity, seconds, weight, note))

    for row in load(data, "megatron_sc21.json"):
        name, config = row["model"]["name"], row["config"]
        if "Table 1" in row["source"]:
            stack = "megatron-2021" if config["pp"] > 1 else "megatron-2021-data-parallel"
            add("SC21", name, describe(row, f"dgx-a100-80g {stack}"), "step", get_hardware_seconds(row))
        elif "Sept 2020" in row["source"]:
            is_volta = row["cluster"]["gpu"].startswith("V100")
            cluster = "dgx-2" if is_volta else "dgx-a100-40g"
            add("2020 V100" if is_volta else "2020", f"{name}, {row['cluster']['gpus']} GPUs",
                describe(row, f"{cluster} megatron-2021-data-parallel", accumulation_bytes=0), "step",
                row["measured"]["step_time_s"])
    for row in load(data, "korthikanti_2205_05198.json"):
        name, config = row["model"]["name"], row["config"]
        how = f"{config['recompute'].split('_')[0]}{', sp' if config['sp'] else ''}"
        cluster = "dgx-a100-80g megatron-2022"
        if "Table 5" in row["source"]:
            add("MLSys22", f"{name}, {how}", describe(row, cluster), "step", row["measured"]["step_time_s"])
        elif "abstract" in row["source"]:
            add("MLSys22", f"{name}, {how}, 2,240 GPUs", describe(row, cluster), "step", get_model_seconds(row))
        elif "Table 4" in row["source"]:
            run = describe(row, cluster, is_layer=True)
            # Forward passes do not depend on what is recomputed: one of each is enough.
            if run["recompute"] == "none":
                add("Table 4", f"forward, {how}", run, "forward", row["measured"]["fwd_ms"] / 1e3)
            add("Table 4", f"backward, {how}", run, "backward", row["measured"]["bwd_ms"] / 1e3)
    for row in load(data, "llm_foundry.json"):
        model = row["model"]
        odd = (model["name"], model["seq"]) in ODD
        add("MPT", f"{model['name']}, {model['seq']}",
            describe(row, "dgx-a100-80g llm-foundry-fsdp", precision="bf16", gradient_bytes=4, accumulation_bytes=10),
            "step", row["measured"]["step_time_s"], 0.0 if odd else None, "odd" if odd else "")
    for row in load(data, "zero_family.json"):
        if "Azure" not in row["source"]:
            continue
        row["config"]["tp"] = row["config"]["pp"] = 1
        config = row["config"]
        add("Azure", f"{row['model']['name']}, {row['cluster']['gpus']} GPUs, {config['microbatch']}",
            describe(row, "azure deepspeed-zero-3", vocabulary=51200, accumulation_bytes=0), "step",
            get_hardware_seconds(row))
    return rows


def get_all_reduces(folder):
    """(table, cluster, ranks, devices per node, bytes, seconds) of measured all-reduces in one node and across."""
    tables = {
        "nccl-tests all_reduce on one 8xA100 node": ("8 x A100", "dgx-a100-80g"),
        "all_reduce_bench.py on one 8xH200 node": ("8 x H200", "dgx-h200"),
        "all_reduce_bench.py 1 node 8xB200": ("8 x B200", "dgx-b200"),
        "all_reduce_bench.py 4 nodes 8xB200": ("4 nodes of 8 x B200", "dgx-b200"),
        "vTrain NCCL all-reduce LUT a100": ("A100, look-up table", "dgx-a100-80g"),
    }
    found = []
    for row in load(pathlib.Path(folder), "comm_bandwidth.json"):
        for start, (table, cluster) in tables.items():
            if not row["source"].startswith(start):
                continue
            measured, ranks = row["measured"], row["cluster"]["gpus"]
            bus = measured["busbw_gb_s"] * 1e9
            seconds = measured["message_bytes"] * 2 * (ranks - 1) / ranks / bus if bus > 0 else 0
            if measured.get("time_us"):
                seconds = measured["time_us"] * 1e-6
            # Printed with two digits: too coarse below this.
            if measured["busbw_gb_s"] >= 0.5:
                name = f"{table}, {ranks} GPUs" if "look-up" in table else table
                found.append((name, cluster, ranks, row["cluster"]["gpus_per_node"], measured["message_bytes"], seconds))
    return found
