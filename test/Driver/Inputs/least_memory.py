#!/usr/bin/env python3
"""Plans a model with parameter servers within the memory that its plan says: the same comes of it. With a byte less there is
either another plan, which fits, or none (69), and then a server is named if the servers need most."""
import json
import os
import subprocess
import sys

model, out, servers = sys.argv[1:]


def plan(*more):
    run = subprocess.run(["parplan", "plan", model, "--gpus", "5", "--cluster", "dgx-h100", "--train", "--optimizer", "adamw", "--force",
                          "parameter-server=" + servers, "-o", out, *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    document = None
    if run.returncode == 0:
        with open(os.path.join(out, "plan.json")) as file:
            document = json.load(file)
    return run.returncode, run.stdout, document


code, text, free = plan()
assert code == 0, text
peaks = free["predicted"]["peak_memory_bytes"]["per_rank"]
workers = 5 - len(free["servers"]["ranks"])
code, text, same = plan("--memory-limit", str(max(peaks)))
assert code == 0, text
assert same["predicted"]["peak_memory_bytes"]["per_rank"] == peaks, same["predicted"]["peak_memory_bytes"]
code, text, less = plan("--memory-limit", str(max(peaks) - 1))
if code == 0:
    assert max(less["predicted"]["peak_memory_bytes"]["per_rank"]) < max(peaks)
else:
    assert code == 69, text
    named = "servers needs" in text
    assert named == (max(peaks[workers:]) > max(peaks[:workers])), text
