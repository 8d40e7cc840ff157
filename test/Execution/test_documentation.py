#!/usr/bin/env python3
"""Checks what the documentation says against the tree: links, numbers of constraints, diagnostics, and who includes whom."""
import glob
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# From the bottom up: a folder may include itself, what the runtime's kernels look like, and what it lists here.
LAYERS = {
    "lib/Support": [],
    "lib/Sharding": ["lib/Support"],
    "lib/Cluster": ["lib/Support"],
    "lib/CostModel": ["lib/Cluster", "lib/Sharding", "lib/Support"],
    "lib/Pipeline": ["lib/Support"],
    "lib/BlockSolver": ["lib/Support"],
    "lib/Planner": ["lib/CostModel", "lib/Cluster", "lib/Pipeline", "lib/Sharding", "lib/Support"],
    "lib/Simulator": ["lib/CostModel", "lib/Cluster", "lib/Sharding", "lib/Support"],
}
WITHOUT_MLIR = list(LAYERS)
SHARED = list(LAYERS)
LAYERS |= {
    "dialects/parplan": ["lib/Sharding", "lib/CostModel", "lib/Support"],
    "dialects/exec": ["dialects/parplan", *SHARED],
    "lib/Import": ["dialects/parplan", *SHARED],
    "lib/Interpreter": ["dialects/parplan", *SHARED],
    "passes/Simplify": ["dialects/parplan", *SHARED],
    "passes/Plan": ["dialects/parplan", *SHARED],
    "passes/Partition": ["dialects/parplan", *SHARED],
    "passes/Schedule": ["dialects/parplan", "dialects/exec", *SHARED],
    "lib/Report": SHARED,
    "lib/Target": ["dialects/parplan", "dialects/exec", *SHARED],
}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def list_sources(*folders):
    for folder in folders:
        for path in glob.glob(os.path.join(ROOT, folder, "**"), recursive=True):
            if path.endswith((".h", ".cpp", ".td", ".cu", ".cuh")):
                yield path


def get_includes(path):
    return re.findall(r'^#include "([^"]+)"', read(path), re.MULTILINE)


def get_folder(include):
    """The folder of LAYERS that an include from the root belongs to."""
    public = re.match(r"parplan/(\w+)/", include)
    if public:
        return "lib/" + public.group(1)
    own = re.match(r"((?:lib|passes|dialects)/\w+)/", include)
    return own.group(1) if own else None


class Documentation(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for path in glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True) + [os.path.join(ROOT, "README.md")]:
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", read(path)):
                if not target.startswith("http"):
                    self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), target)),
                                    f"{os.path.relpath(path, ROOT)} links to {target}")

    def test_every_number_that_code_cites_is_specified(self):
        specified = set(re.findall(r"\*\*([SE]\d+)\*\*", read(os.path.join(ROOT, "docs/spec.md"))))
        for path in list_sources("dialects", "passes", "include/parplan/Sharding", "lib/Sharding", "lib/Interpreter"):
            for number in re.findall(r"\b([SE]\d\d?)\b", read(path)):
                self.assertIn(number, specified, f"{os.path.relpath(path, ROOT)} cites {number}")

    def test_diagnostics_are_listed(self):
        script = os.path.join(ROOT, "scripts/document-diagnostics")
        self.assertEqual(subprocess.run([sys.executable, script, "--check"], check=False).returncode, 0)

    def test_includes_point_down(self):
        for folder, allowed in LAYERS.items():
            public = folder.replace("lib/", "include/parplan/") if folder.startswith("lib/") else folder
            for path in list_sources(folder, *({public} - {folder})):
                for include in get_includes(path):
                    target = get_folder(include)
                    if target and target != folder:
                        self.assertIn(target, allowed, f"{os.path.relpath(path, ROOT)} includes {include}")

    def test_no_mlir_where_none_is_needed(self):
        for folder in WITHOUT_MLIR:
            for path in list_sources(folder, folder.replace("lib/", "include/parplan/")):
                self.assertFalse([include for include in get_includes(path) if include.startswith(("mlir/", "dialects/"))],
                                 os.path.relpath(path, ROOT))

    def test_the_runtime_stands_alone(self):
        for path in list_sources("runtime/include", "runtime/lib", "runtime/cuda"):
            for include in get_includes(path):
                self.assertNotRegex(include, r"^(parplan|mlir|llvm|google|onnx|nlohmann|lib|dialects|passes)/",
                                    os.path.relpath(path, ROOT))


if __name__ == "__main__":
    unittest.main()
