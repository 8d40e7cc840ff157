#!/usr/bin/env python3
"""Checks what the documentation says against the tree: links, numbers of constraints, diagnostics, and which folder includes which."""
import glob
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


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
    """The folder of CMakeLists.txt that an include from the root belongs to."""
    public = re.match(r"parplan/(\w+)/", include)
    if public:
        return "lib/" + public.group(1)
    own = re.match(r"((?:lib|passes|dialects|tools)/[\w-]+)/", include)
    return own.group(1) if own else None


class Layers:
    """What CMake's files say of the compiler's folders: their order, and what each links."""

    def __init__(self):
        text = read(os.path.join(ROOT, "CMakeLists.txt"))
        groups = re.findall(r"parplan_add_folders\(([^)]*)\)", text)
        self.folders = [folder for group in groups for folder in group.split() if "/" in folder]
        self.homes, self.linked, self.without_mlir = {}, {folder: set() for folder in self.folders}, []
        for folder in self.folders:
            text = read(os.path.join(ROOT, folder, "CMakeLists.txt"))
            calls = re.findall(r"parplan_add_(?:library|tool|fuzzer)\(([^)]*)\)", text)
            for call in calls:
                self.homes[call.split()[0]] = folder
                for names in re.findall(r"\bLINK\b((?:\s+(?!DEPENDS\b)\S+)*)", call):
                    self.linked[folder].update(names.split())
            if not any("MLIR" in call.split() for call in calls):
                self.without_mlir.append(folder)

    def get_includable(self, folder):
        """The folders behind what a folder links, directly or not."""
        found, rest = set(), [folder]
        while rest:
            for name in self.linked[rest.pop()]:
                home = self.homes.get(name)
                if home and home not in found:
                    found.add(home)
                    rest.append(home)
        return found

    @staticmethod
    def list_sources(folder):
        public = {folder.replace("lib/", "include/parplan/")} - {folder}
        return list_sources(folder, *public)


class Documentation(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for path in glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True) + [os.path.join(ROOT, "README.md")]:
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", read(path)):
                if not target.startswith("http"):
                    self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), target)),
                                    f"{os.path.relpath(path, ROOT)} links to {target}")

    def test_every_number_that_code_cites_is_specified(self):
        specified = set(re.findall(r"\*\*([SPE]\d+)\*\*", read(os.path.join(ROOT, "docs/spec.md"))))
        for path in list_sources("dialects", "passes", "include/parplan", "lib/Sharding", "lib/Planner", "lib/Interpreter"):
            for number in re.findall(r"\b([SPE]\d\d?)\b", read(path)):
                self.assertIn(number, specified, f"{os.path.relpath(path, ROOT)} cites {number}")

    def test_diagnostics_are_listed(self):
        script = os.path.join(ROOT, "scripts/document-diagnostics")
        self.assertEqual(subprocess.run([sys.executable, script, "--check"], check=False).returncode, 0)

    def test_every_folder_is_built(self):
        layers = Layers()
        for parent in ("lib", "dialects", "passes", "tools"):
            for folder in sorted(os.listdir(os.path.join(ROOT, parent))):
                if os.path.isdir(os.path.join(ROOT, parent, folder)):
                    self.assertIn(f"{parent}/{folder}", layers.folders)

    def test_links_point_down(self):
        layers = Layers()
        for place, folder in enumerate(layers.folders):
            for other in layers.get_includable(folder) - {folder}:
                self.assertLess(layers.folders.index(other), place, f"{folder} links {other}")

    def test_folders_include_what_they_link(self):
        layers = Layers()
        for folder in layers.folders:
            allowed = layers.get_includable(folder) | {folder}
            for path in layers.list_sources(folder):
                for include in get_includes(path):
                    target = get_folder(include)
                    if target:
                        self.assertIn(target, allowed, f"{os.path.relpath(path, ROOT)} includes {include}")

    def test_folders_of_the_planner_are_layers(self):
        searches = ["Exact", "Units", "Joint"]
        order = ["Problem", "Candidates", "Folding", "Evaluation", "Completion", *searches]
        sources = {folder: list(list_sources(f"lib/Planner/{folder}")) for folder in order}
        homes = {os.path.basename(path)[:-len(".cpp")]: folder for folder in order for path in sources[folder]
                 if path.endswith(".cpp")}
        # A public header is of the folder that has its functions.
        for path in list_sources("include/parplan/Planner"):
            sources.get(homes.get(os.path.basename(path)[:-len(".h")]), []).append(path)
        for folder in order:
            allowed = set(order[:order.index(folder) + 1])
            if folder != "Exact" and folder in searches:
                allowed.remove("Exact")
            for path in sources[folder]:
                for include in get_includes(path):
                    own = re.match(r"lib/Planner/(\w+)/", include)
                    public = re.match(r"parplan/Planner/(\w+)\.h", include)
                    target = own.group(1) if own else homes.get(public.group(1)) if public else None
                    if target:
                        self.assertIn(target, allowed, f"{os.path.relpath(path, ROOT)} includes {include}")

    def test_no_mlir_where_none_is_needed(self):
        layers = Layers()
        for folder in ("lib/Cluster", "lib/CostModel", "lib/Planner", "lib/Simulator", "lib/Pipeline"):
            self.assertIn(folder, layers.without_mlir)
        for folder in layers.without_mlir:
            if folder.startswith("tools/"):
                continue
            for path in layers.list_sources(folder):
                self.assertFalse([include for include in get_includes(path) if include.startswith(("mlir/", "dialects/"))],
                                 os.path.relpath(path, ROOT))

    def test_the_runtime_stands_alone(self):
        for path in list_sources("runtime/include", "runtime/lib", "runtime/cuda"):
            for include in get_includes(path):
                self.assertNotRegex(include, r"^(parplan|mlir|llvm|google|onnx|nlohmann|lib|dialects|passes)/",
                                    os.path.relpath(path, ROOT))


if __name__ == "__main__":
    unittest.main()
