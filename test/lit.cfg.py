"""Configuration of the lit tests: parplan-opt and parplan on text that FileCheck or -verify-diagnostics examines.

A test's folder names what is tested: Dialects, Passes, Target, Driver. Substitutions: %models (test/models),
%python, %nvcc, %runtime (how emitted programs are compiled), %exits CODE (the program must end with it). Features:
cuda, where nvcc is found.
"""
import os

import lit.formats

config.name = "parplan"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Unit", "Execution", "Inputs", "models"]
config.test_source_root = config.parplan_test_folder
config.test_exec_root = config.parplan_test_output_folder

config.environment["PATH"] = os.pathsep.join([config.parplan_programs, config.llvm_tools, os.environ["PATH"]])
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
config.substitutions += [
    ("%models", os.path.join(config.parplan_test_folder, "models")),
    ("%exits", config.python + " " + os.path.join(config.parplan_test_folder, "exits.py")),
    ("%python", config.python),
    ("%runtime", os.path.join(os.path.dirname(config.parplan_programs), "lib", "parplan_runtime.json")),
]
if os.path.exists(config.nvcc):
    config.available_features.add("cuda")
    config.substitutions.append(("%nvcc", config.nvcc))
