//===- Passes.td - Choosing how everything is spread -*- tablegen -*-===//

#ifndef PARPLAN_PASSES_PLAN_PASSES_TD
#define PARPLAN_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def Plan : Pass<"parplan-plan", "::mlir::ModuleOp"> {
  let summary = "Chooses mesh, factors and shardings of @main";
  let description = [{
    In: @main with global types, its batch arguments marked `parplan.batch`.

    Extracts the planning problem, solves it, lets the evaluator confirm the
    answer, and writes it back.

    Out: the mesh op; `parplan.factors` and `parplan.shardings` (at rest) on every
    op; `parplan.sharding` on arguments and results. Of a pipeline also
    `parplan.stage` on every op that belongs to one stage, and
    `parplan.pipeline_schedule` and `parplan.pass_seconds` on the function. Ops
    whose results are made again have `parplan.recompute`, and those whose result
    does not rest on the device `parplan.tier`.
  }];
  let options = [
    Option<"gpus", "gpus", "int64_t", "1", "Devices to use">,
    Option<"cluster", "cluster", "std::string", "\"host\"",
           "Preset of the cluster">,
    Option<"data", "data", "int64_t", "0", "Size of the data axis; 0: free">,
    Option<"tensor", "tensor", "int64_t", "0",
           "Size of all tensor axes, for 1D; 0: free">,
    ListOption<"grid", "grid", "int64_t",
               "Sizes of a grid of tensor axes: two for 2D, three for 3D">,
    Option<"depth", "depth", "bool", "false",
           "A grid of three sizes is 2.5D: rows, columns and depth">,
    Option<"context", "context", "int64_t", "0",
           "Size of the context axes; 0: free">,
    Option<"expert", "expert", "int64_t", "0",
           "Size of the expert axes; 0: free">,
    Option<"sequence", "sequence", "int", "-1",
           "Sequence parallelism: 1 on, 0 off; negative: free">,
    ListOption<"force", "force", "std::string",
               "GLOB:ALGORITHM of nodes, by the names of docs/cli.md">,
    Option<"zero", "zero", "int", "-1", "ZeRO stage; negative: free">,
    Option<"pipeline", "pipeline", "int64_t", "0",
           "Positions of the pipeline; 0: free">,
    Option<"schedule", "schedule", "std::string", "\"\"",
           "Order of passes, by the names of docs/cli.md; empty: free">,
    Option<"recompute", "recompute", "std::string", "\"\"",
           "none, selective or full; empty: free">,
    ListOption<"offload", "offload", "std::string",
               "KIND:TIER by the names of docs/cli.md">,
    Option<"servers", "servers", "int64_t", "0",
           "Devices that keep the variables for the others">,
    Option<"memory", "memory", "int64_t", "0",
           "Bytes per device; 0: those of the preset">
  ];
  let dependentDialects = ["::parplan::ParplanDialect"];
}

#endif // PARPLAN_PASSES_PLAN_PASSES_TD
