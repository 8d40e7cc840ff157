#!/usr/bin/env python3
"""Names of a model are data: gives a trained model names that no language, shell or file system would take, and expects

  * the source that plain names give, but for the text of comments and strings;
  * a program that compiles, runs on two ranks, and computes the same bits;
  * nothing written outside of its folder.
Ends with 1 where one does not hold.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchmarks"))
from onnx_file import encode_field  # noqa: E402

HOSTILE = ['a=b"; system("touch escaped"); //', "x" * (1 << 20), "*/ int escaped = 1; /*", "$(touch escaped)", "`touch escaped`", "../../escaped",
           "/tmp/escaped", "a\nb\r\n#define main escaped", "??/??'trigraph??>", "\\", "\\u0022", "%s%n%x", "'", "${HOME}", "-o",
           "\x1b[31mred", "naïve ☃ \u202e", "R\"(", "int", " ", ".", "..", "CON", "a,b=c", "NAME=FILE"]

# Fields of onnx.proto that name something, and those that lead there.
MODEL, GRAPH, NODE, VALUE, TENSOR = "model", "graph", "node", "value", "tensor"
MESSAGES = {MODEL: {7: GRAPH}, GRAPH: {1: NODE, 5: TENSOR, 11: VALUE, 12: VALUE, 13: VALUE}}
NAMES = {GRAPH: {2}, NODE: {1, 2, 3}, TENSOR: {8}, VALUE: {1}}


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def rename(data, message, names):
    """The message with every name replaced by what `names` makes of it."""
    out, at = bytearray(), 0
    while at < len(data):
        start = at
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            _, at = read_varint(data, at)
        elif wire == 2:
            size, at = read_varint(data, at)
            content, at = data[at:at + size], at + size
            if number in NAMES.get(message, ()):
                out += encode_field(number, names(content.decode()))
                continue
            if number in MESSAGES.get(message, {}):
                out += encode_field(number, rename(content, MESSAGES[message][number], names))
                continue
        else:
            at += {1: 8, 5: 4}[wire]
        out += data[start:at]
    return bytes(out)


class Names:
    """One name for each: those of a list first, then a number at the end of those."""

    def __init__(self, list_of_names):
        self.list, self.chosen = list_of_names, {"": ""}

    def __call__(self, name):
        if name not in self.chosen:
            turn, place = divmod(len(self.chosen) - 1, len(self.list))
            # An empty name is no name; a second megabyte shows nothing.
            self.chosen[name] = self.list[place] if turn == 0 else f"{self.list[place][:100]}{turn}"
        return self.chosen[name]


# What is in a comment or a string, and the digits that only numbers of lines differ in.
TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)


def tokens(path):
    with open(path, encoding="utf-8") as file:
        return TEXT.sub('""', file.read()).split()


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(root, name), folder) for root, _, names in os.walk(folder) for name in names)


def run(parplan, case, folder, names):
    """Plans, compiles and runs the model under other names; returns the tokens of its source and its output."""
    with open(os.path.join(case, "case.json"), encoding="utf-8") as file:
        description = json.load(file)
    (given, data), (wanted, _) = next(iter(description["inputs"].items())), next(iter(description["outputs"].items()))
    data = data["file"] if isinstance(data, dict) else data
    with open(os.path.join(case, "model.onnx"), "rb") as file:
        model = rename(file.read(), MODEL, names)
    os.makedirs(folder)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(model)
    command = [parplan, "model.onnx", "--gpus", "2", "--target", "host", "--force", "tp1d=2", "-o", "out"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["out/program", "--ranks", "2", "--input", f"{names(given)}={os.path.abspath(os.path.join(case, data))}",
                    "--output-dir", "results", "--metrics", "metrics.json"], cwd=folder, check=True)
    with open(os.path.join(folder, "metrics.json"), encoding="utf-8") as file:
        json.load(file)
    with open(os.path.join(folder, "out", "plan.json"), encoding="utf-8") as file:
        json.load(file)
    (result,) = os.listdir(os.path.join(folder, "results"))
    return tokens(os.path.join(folder, "out", "program.cu")), numpy.load(os.path.join(folder, "results", result)), wanted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parplan", required=True)
    parser.add_argument("--case", required=True, help="a folder of test/models")
    arguments = parser.parse_args()
    parplan = os.path.abspath(arguments.parplan)
    with tempfile.TemporaryDirectory(prefix="parplan-names-") as folder:
        plain = run(parplan, arguments.case, os.path.join(folder, "plain"), Names([f"name{i}" for i in range(1000)]))
        plain_files = files_below(os.path.join(folder, "plain"))
        # The first name is that of the input: a command line takes no megabyte.
        hostile = run(parplan, arguments.case, os.path.join(folder, "hostile"), Names(HOSTILE))
        hostile_files = files_below(os.path.join(folder, "hostile"))
        checks = {
            "the source has the tokens that plain names give": hostile[0] == plain[0],
            "the output has the same bits": numpy.array_equal(hostile[1], plain[1]),
            "the same files are written": [os.path.dirname(name) for name in hostile_files]
                                          == [os.path.dirname(name) for name in plain_files],
            "nothing is written outside": sorted(os.listdir(folder)) == ["hostile", "plain"] and not os.path.exists("/tmp/escaped"),
        }
    for text, holds in checks.items():
        print(f"{text}: {'ok' if holds else 'NO'}")
    sys.exit(0 if all(checks.values()) else 1)


if __name__ == "__main__":
    main()
