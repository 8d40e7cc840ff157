#!/usr/bin/env python3
"""Trains the bundled mlp with parameter servers that have no common step with the workers, and checks the log of what they did.

PARPLAN_CHAOS delays every launch, call and message at random, and those of another worker most in each run, so that servers
meet the workers in other orders.
Runs pass when
  * there are several orders among them;
  * no worker was further ahead of another than the staleness allows, and what it pushed had missed at most
    (workers - 1) (2 staleness + 1) updates of others;
  * losses and saved weights are those of NumPy, which applies gradients in the order of the log, computed from the versions
    that the log says;
  * `--replay` of the log gives the same losses and weights, bit for bit, under other delays.
Ends with 1 when one failed.
"""
import argparse
import os
import tempfile

import numpy

from forced import expect
from run_inference import execute, read_json
from run_training import LOSS_TOLERANCE, check_weights, compile_step, read_safetensors
from verdicts import Verdicts

# Ranks, workers, the task of the model, micro-batches, and what is forced.
CONFIGURATIONS = [(3, 2, 0, 1, "parameter-server=async"), (6, 4, 0, 1, "parameter-server=async:staleness=2,servers=2"),
                  (4, 2, 1, 2, "parameter-server=async,servers=2,micro-batches=2"),
                  (5, 4, 0, 1, "parameter-server=async:staleness=0")]
SEEDS = (1, 2, 3)
STEPS = 6
EPSILON = 1e-5


def run(out, data, ranks, seed, slow, *more):
    """Returns the metrics and the bytes of the saved weights of a run in which the rank `slow` falls behind."""
    saved, metrics = os.path.join(out, "trained.safetensors"), os.path.join(out, "metrics.json")
    chaos = {"PARPLAN_CHAOS": str(seed), "PARPLAN_CHAOS_RANK": str(slow)}
    os.environ.update(chaos)
    try:
        execute([os.path.join(out, "program"), "--ranks", str(ranks), "--data", data, "--steps", str(STEPS),
                 "--metrics", metrics, "--save", saved, *more])
    finally:
        for name in chaos:
            del os.environ[name]
    with open(saved, "rb") as file:
        return read_json(metrics), file.read()


def differentiate(parameters, features, labels):
    """The loss of the model, and its gradients."""
    linear = features @ parameters["up.weight"].T + parameters["up.bias"]
    mean = linear.mean(-1, keepdims=True)
    deviation = numpy.sqrt(linear.var(-1, keepdims=True) + EPSILON)
    normal = (linear - mean) / deviation
    relu = numpy.maximum(normal * parameters["norm.weight"] + parameters["norm.bias"], 0)
    tanh = numpy.tanh(relu @ parameters["middle.weight"].T + parameters["middle.bias"])
    logits = (relu + tanh) @ parameters["head.weight"].T + parameters["head.bias"]
    exponentials = numpy.exp(logits - logits.max(-1, keepdims=True))
    shares = exponentials / exponentials.sum(-1, keepdims=True)
    counted = labels >= 0
    rows = numpy.arange(len(labels))[counted]
    loss = -numpy.log(shares[rows, labels[counted]]).sum() / max(counted.sum(), 1)

    gradients = {}
    to_logits = shares.copy()
    to_logits[rows, labels[counted]] -= 1
    to_logits *= counted[:, None] / max(counted.sum(), 1)
    gradients["head.weight"], gradients["head.bias"] = to_logits.T @ (relu + tanh), to_logits.sum(0)
    to_sum = to_logits @ parameters["head.weight"]
    to_middle = to_sum * (1 - tanh ** 2)
    gradients["middle.weight"], gradients["middle.bias"] = to_middle.T @ relu, to_middle.sum(0)
    to_norm = (to_sum + to_middle @ parameters["middle.weight"]) * (relu > 0)
    gradients["norm.weight"], gradients["norm.bias"] = (to_norm * normal).sum(0), to_norm.sum(0)
    to_normal = to_norm * parameters["norm.weight"]
    to_linear = (to_normal - to_normal.mean(-1, keepdims=True)
                - normal * (to_normal * normal).mean(-1, keepdims=True)) / deviation
    gradients["up.weight"], gradients["up.bias"] = to_linear.T @ features, to_linear.sum(0)
    return loss, gradients


class Updates:
    """The optimizer of a task: SGD, or AdamW as PyTorch has it, which counts applications."""

    def __init__(self, specification):
        kind, keys = specification.split(":")
        self.values = {key: float(value) for key, value in (entry.split("=") for entry in keys.split(","))}
        self.has_moments = kind == "adamw"
        self.moments, self.count = {}, 0

    def step(self, parameters, gradients):
        self.count += 1
        rate = self.values["lr"]
        if not self.has_moments:
            return {name: parameters[name] - rate * gradients[name] for name in parameters}
        updated = {}
        betas = self.values["beta1"], self.values["beta2"]
        for name, gradient in gradients.items():
            first, second = self.moments.get(name, (0, 0))
            first = betas[0] * first + (1 - betas[0]) * gradient
            second = betas[1] * second + (1 - betas[1]) * gradient ** 2
            self.moments[name] = first, second
            first, second = (moment / (1 - beta ** self.count) for moment, beta in zip((first, second), betas))
            kept = parameters[name] * (1 - rate * self.values["weight_decay"])
            updated[name] = kept - rate * first / (numpy.sqrt(second) + self.values["eps"])
        return updated


class Replay:
    """Applies what a log says to the model's first weights."""

    def __init__(self, folder, task, workers, micro_batches, clip_norm):
        initial = numpy.load(os.path.join(folder, "initial.npz"))
        self.versions = [{name: initial[name].astype(numpy.float64) for name in initial.files}]
        self.features = numpy.load(os.path.join(folder, task["data"], "features.npy")).astype(numpy.float64)
        self.labels = numpy.load(os.path.join(folder, task["data"], "labels.npy"))
        self.batch, self.workers, self.clip_norm = task["global_batch"], workers, clip_norm
        self.micro_batches = micro_batches
        self.updates = Updates(task["optimizer"])
        # Per step and worker the loss and the labels that it is the mean over.
        self.losses = [[None] * workers for _ in range(STEPS)]
        self.steps = [0] * workers

    def apply(self, worker, seen):
        step, part = self.steps[worker], self.batch // self.micro_batches
        share = part // self.workers
        self.steps[worker] += 1
        # Each worker has a share of every micro-batch.
        firsts = step * self.batch + worker * share + part * numpy.arange(self.micro_batches)
        rows = (firsts[:, None] + numpy.arange(share)).ravel() % len(self.features)
        loss, gradients = differentiate(self.versions[seen], self.features[rows], self.labels[rows])
        self.losses[step][worker] = (loss, (self.labels[rows] >= 0).sum())
        norm = sum((gradient ** 2).sum() for gradient in gradients.values()) ** 0.5
        scale = min(1, self.clip_norm / (norm + 1e-6))
        scaled = {name: scale * gradient for name, gradient in gradients.items()}
        self.versions.append(self.updates.step(self.versions[-1], scaled))

    def get_losses(self):
        return [sum(loss * count for loss, count in row) / max(sum(count for _, count in row), 1) for row in self.losses]


def check_log(order, seen, workers, staleness):
    """The bounds of pipeline.md, section 9."""
    expect(sorted(order) == sorted(list(range(workers)) * STEPS), f"the log is not of {STEPS} steps of {workers} workers: {order}")
    steps, last = [0] * workers, [0] * workers
    for number, (worker, version) in enumerate(zip(order, seen)):
        expect(last[worker] <= version <= number, f"application {number} had seen {version}")
        # Its step began when its values had seen `version` applications.
        done = [order[:version].count(other) for other in range(workers)]
        expect(steps[worker] - min(done) <= staleness, f"worker {worker} began step {steps[worker]} when {done} were applied")
        foreign = number - version - sum(other == worker for other in order[version:number])
        expect(foreign <= (workers - 1) * (2 * staleness + 1), f"application {number} had missed {foreign} of others")
        steps[worker] += 1
        last[worker] = number + 1


def check(parplan, models, ranks, workers, number, micro_batches, specification, work):
    folder = os.path.join(models, "mlp")
    case = read_json(os.path.join(folder, "case.json"))
    task = dict(case["train"][number], clip_norm=3.0)
    out = os.path.join(work, "out")
    plan = compile_step(parplan, folder, case, task, ranks, specification, "fp32", out)
    data = os.path.join(folder, task["data"])
    orders = set()
    for seed in SEEDS:
        # Workers are the first ranks.
        metrics, weights = run(out, data, ranks, seed, seed % workers)
        log = metrics["parameter_server"]
        # In rows of as many as there are workers.
        order, seen = (sum(log[key], []) for key in ("order", "seen"))
        check_log(order, seen, workers, plan["servers"]["staleness"])
        orders.add(tuple(order))
        replay = Replay(folder, task, workers, micro_batches, task["clip_norm"])
        for worker, version in zip(order, seen):
            replay.apply(worker, version)
        for step, (loss, wanted) in enumerate(zip(metrics["loss"], replay.get_losses())):
            expect(abs(loss - wanted) <= LOSS_TOLERANCE * abs(wanted), f"the loss of step {step} is {loss}, NumPy's {wanted}")
        expected = os.path.join(work, "expected.npz")
        numpy.savez(expected, **replay.versions[-1])
        saved = os.path.join(out, "trained.safetensors")
        check_weights(read_safetensors(saved), replay.versions[0], numpy.load(expected))
        log_file = os.path.join(work, "log.json")
        os.replace(os.path.join(out, "metrics.json"), log_file)
        again, replayed = run(out, data, ranks, seed + 1000, (seed + 1) % workers, "--replay", log_file)
        expect(again["parameter_server"] == log, "a replay has another log")
        expect(again["loss"] == metrics["loss"], f"a replay has the losses {again['loss']}, not {metrics['loss']}")
        expect(replayed == weights, "a replay saves other weights")
    expect(len(orders) > 1, "all runs have one order")
    return f"{len(orders)} orders of {len(SEEDS)} runs, each NumPy's and its replay's"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parplan", required=True, help="the program parplan")
    parser.add_argument("--models", required=True, help="folder with one folder per model")
    options = parser.parse_args()
    verdicts = Verdicts()
    for ranks, workers, number, micro_batches, specification in CONFIGURATIONS:
        with tempfile.TemporaryDirectory(prefix="parplan-") as work:
            verdicts.check(f"mlp, {ranks} ranks, {specification}",
                           lambda: check(os.path.abspath(options.parplan), options.models, ranks, workers, number, micro_batches,
                                         specification, work))
    verdicts.end()


if __name__ == "__main__":
    main()
