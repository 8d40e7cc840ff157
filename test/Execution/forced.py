"""What --force asks for, and whether a plan and its run do it."""
import fnmatch
import math

# Role of the axes, algorithms of the products, and communication of which at least one must be sent.
KINDS = {
    "dp": ("data", None, None),
    "tp1d": ("tensor", {"row", "column"}, {"all_reduce", "reduce_scatter", "all_gather"}),
    "tp2d": ("tensor", {"summa2d", "gather2d"}, {"broadcast", "all_gather"}),
    "tp2.5d": ("tensor", {"2.5d"}, {"broadcast", "all_gather"}),
    "tp3d": ("tensor", {"3d"}, {"all_gather"}),
    "cp": ("context", None, {"send", "all_to_all", "all_gather"}),
    "ep": ("expert", None, {"all_to_all"}),
    "pp": ("pipeline", None, {"send"}),
}
PRODUCTS = {"MatMul", "Gemm", "Conv"}
ATTENTION = {"ring", "all-to-all", "gather"}
# Of the floating-point operations of all products: what a forced tensor kind must reach.
FORCED_SHARE = 0.8


class Difference(Exception):
    """What a run did otherwise than expected."""


def expect(condition, text):
    if not condition:
        raise Difference(text)


class Forced:
    """The entries of a --force list without commas in globs."""

    def __init__(self, specification):
        self.nodes, self.values, self.offloads = [], {}, []
        for entry in filter(None, specification.split(",")):
            if entry.startswith("node:"):
                glob, algorithm = entry[len("node:"):].rsplit(":", 1)
                self.nodes.append((glob, algorithm))
            else:
                key, value = entry.split("=", 1)
                self.values[key] = value
                if key == "offload":
                    self.offloads.append(value)
        self.sizes = {key: math.prod(int(size) for size in value.split("x"))
                      for key, value in self.values.items() if key in KINDS}

    def check_plan(self, plan, ranks):
        """The plan is for these ranks, and does what was asked for."""
        roles = {}
        for axis in plan["mesh"]["axes"]:
            roles[axis["role"]] = roles.get(axis["role"], 1) * axis["size"]
        ranks -= self.check_servers(plan, ranks)
        expect(math.prod(roles.values()) == ranks, f"the mesh {roles} is not one of {ranks} ranks")
        for key, size in self.sizes.items():
            role, algorithms, _ = KINDS[key]
            expect(roles.get(role, 1) == size, f"{key}={self.values[key]} was forced, {roles.get(role, 1)} is planned")
            if algorithms and size > 1 and not self.nodes:
                self.check_products(plan, key, algorithms)
        for glob, algorithm in self.nodes:
            self.check_nodes(plan, glob, algorithm)
        if self.sizes.get("cp", 1) > 1:
            expect(any(row["algorithm"] in ATTENTION for row in plan["operators"]),
                   f"cp={self.values['cp']} was forced, and no attention exchanges its sequence")
        # Where there is no causal attention, the plan says nothing of an order.
        if "sequence" in plan["config"] and any(algorithm == "ring" for _, algorithm in self.nodes):
            sequence = plan["config"]["sequence"]
            expect(sequence["zigzag"] == self.sizes["cp"] or "a step would take" in sequence["reason"],
                   f"a causal ring of {self.sizes['cp']} ranks is not in zig-zag order: {sequence.get('reason')}")
        if self.values.get("sp") == "on":
            self.check_sequence(plan)
        if "micro-batches" in self.values:
            planned = plan["config"]["micro_batches"]
            expect(planned == int(self.values["micro-batches"]),
                   f"{self.values['micro-batches']} micro-batches were forced, {planned} are planned")
        self.check_stages(plan, ranks)
        if self.values.get("recompute", "none") != "none":
            expect(any(row["recompute"] == "recompute" for row in plan["operators"]),
                   f"recompute={self.values['recompute']} was forced, and no operator runs again")
        for offload in self.offloads:
            self.check_offload(plan, offload)
        if "zero" in self.values:
            stages = {row["zero_stage"] for row in plan["parameters"]}
            expect(stages == {int(self.values["zero"])},
                   f"ZeRO stage {self.values['zero']} was forced, {sorted(stages)} are planned")

    def check_servers(self, plan, ranks):
        """The last ranks are servers, where they were asked for. Returns how many."""
        mode, servers = self.values.get("parameter-server"), plan.get("servers")
        expect((mode is None) == (servers is None), f"parameter-server={mode} was forced, {servers} are planned")
        if servers is None:
            return 0
        count = int(self.values.get("servers", 1))
        expect(servers["ranks"] == list(range(ranks - count, ranks)), f"{servers['ranks']} are servers, not the last {count}")
        expect(servers["mode"] == mode.split(":")[0], f"parameter-server={mode} was forced, {servers['mode']} is planned")
        if "staleness=" in mode:
            expect(servers["staleness"] == int(mode.split("=")[1]), f"{mode} was forced, not {servers['staleness']}")
        return count

    def check_stages(self, plan, ranks):
        """Every rank runs stages of one position, and every position as many as the schedule has chunks."""
        positions = {}
        for stage in plan["stages"]:
            positions.setdefault(tuple(stage["ranks"]), []).append(stage["chunk"])
        expect(sorted(rank for group in positions for rank in group) == list(range(ranks)),
               "the stages do not share the ranks out")
        expect(len(positions) == self.sizes.get("pp", len(positions)),
               f"pp={self.values.get('pp')} was forced, {len(positions)} groups of ranks run stages")
        expect(len({tuple(sorted(chunks)) for chunks in positions.values()}) == 1,
               "positions run different numbers of chunks")
        if "schedule" in self.values:
            planned = plan["config"]["schedule"]
            expect(planned == self.values["schedule"], f"{self.values['schedule']} was forced, {planned} is planned")

    @staticmethod
    def check_offload(plan, offload):
        kind, _, tier = offload.partition(":")
        if kind == "activations":
            expect(any(row["recompute"] == "offload" for row in plan["operators"]), "no activation waits on the host")
        elif kind != "none":
            field = {"optimizer": "optimizer_tier", "parameters": "tier"}[kind]
            others = {row[field] for row in plan["parameters"]} - {tier}
            expect(not others, f"offload={offload} was forced, {field} is also {sorted(others)}")

    @staticmethod
    def check_products(plan, key, algorithms):
        products = [row for row in plan["operators"] if row["op"] in PRODUCTS]
        total = sum(row["flops"] for row in products)
        split = sum(row["flops"] for row in products if row["algorithm"] in algorithms)
        expect(split >= FORCED_SHARE * total, f"{key} was forced, {split} of {total} operations of products do it")

    @staticmethod
    def check_nodes(plan, glob, algorithm):
        """Every product that the glob names runs the algorithm; attention need not carry the name of an operator."""
        named = [row for row in plan["operators"] if fnmatch.fnmatchcase(row["node"], glob)]
        expect(any(row["algorithm"] == algorithm for row in named), f"no operator called {glob} is {algorithm}")
        if algorithm in set.union(*(kind[1] for kind in KINDS.values() if kind[1])):
            others = {row["node"] for row in named if row["op"] in PRODUCTS and row["algorithm"] != algorithm}
            expect(not others, f"{algorithm} was forced for {glob}, {sorted(others)} do something else")

    @staticmethod
    def check_sequence(plan):
        """Between products the sequence lies split over all tensor axes: dimension 1 of what some operator makes."""
        axes = {axis["name"] for axis in plan["mesh"]["axes"] if axis["role"] == "tensor"}
        expect(any(len(output["sharding"]) > 1 and set(output["sharding"][1]) == axes
                   for row in plan["operators"] if row["op"] not in PRODUCTS for output in row["outputs"]),
               "sp=on was forced, and no operator makes a sequence that is split over the tensor axes")

    def check_communication(self, metrics):
        """A program that sends nothing of its kind does not do what was forced."""
        for key, size in self.sizes.items():
            kinds = KINDS[key][2]
            if size > 1 and kinds and not self.nodes:
                sent = sum(row["bytes"] for rank in metrics["communication"]["per_rank"]
                           for kind, row in rank.items() if kind in kinds)
                expect(sent > 0, f"{key} was forced, and no {' or '.join(sorted(kinds))} was sent")
        if "parameter-server" in self.values:
            idle = [rank for rank, row in enumerate(metrics["communication"]["per_rank"])
                    if not row.get("send", {}).get("bytes") or not row.get("recv", {}).get("bytes")]
            expect(not idle, f"ranks {idle} send or receive nothing")
        for offload in self.offloads:
            kinds = ("nvme_read_bytes", "nvme_write_bytes") if offload.endswith(":nvme") else \
                ("host_to_device_bytes", "device_to_host_bytes")
            moved = [sum(rank[kind] for rank in metrics["offload"]["per_rank"]) for kind in kinds]
            expect(offload == "none" or min(moved) > 0, f"offload={offload} was forced, and {moved} bytes went there and back")
