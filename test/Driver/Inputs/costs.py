#!/usr/bin/env python3
"""Ends with 1 unless what `parplan diff` says that operators cost, and the rest, add up to the difference of the steps."""
import json
import subprocess
import sys

out = json.loads(subprocess.run(["parplan", "diff", sys.argv[1], sys.argv[2], "--json"], stdout=subprocess.PIPE, check=True).stdout)["diff"]
costs = sum(group["cost_s"] for group in out["operators"]) + out["rest_s"]
wanted = out["step_time_s"]["after"] - out["step_time_s"]["before"]
scale = max(out["step_time_s"].values())
assert abs(costs - wanted) < 1e-9 * scale, (costs, wanted)
for group in out["operators"]:
    assert abs(sum(group["breakdown_s"].values()) - group["cost_s"]) < 1e-12, group
pipeline = any(setting["name"] == "stages" for setting in out["settings"])
assert pipeline or abs(out["rest_s"]) < 1e-9 * scale, out["rest_s"]
