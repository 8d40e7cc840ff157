//===- Passes.td - The order of work in a step -*- tablegen -*-===//

#ifndef PARPLAN_PASSES_PIPELINE_PASSES_TD
#define PARPLAN_PASSES_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def UnrollMicroBatches
    : Pass<"parplan-unroll-micro-batches", "::mlir::ModuleOp"> {
  let summary = "Writes out the micro-batches of a training step";
  let description = [{
    In: a training step whose ops with `parplan.per_micro_batch` run once for
    each of `parplan.micro_batches`. Functions without that attribute stay as
    they are.

    The step runs in stages: a stage ends with sums over all micro-batches that
    the next stage reads (the number of labels, before the loss divides by it).
    An op runs in the last stage that serves all its readers, so that backward
    directly follows forward. Within a stage micro-batches follow each other;
    within a micro-batch the order of the program holds. What runs once per step
    takes its place in the last micro-batch of the stage that makes its operands:
    a gradient is reduced as soon as it is complete.

    `parplan.accumulate` becomes a chain of sums in the order of micro-batches.
    Arguments with `parplan.batch` get a leading dimension of micro-batches.

    Out: no `accumulate`, no `parplan.per_micro_batch`.
  }];
}

def VerifyUnrolled : Pass<"parplan-verify-unrolled", "::mlir::ModuleOp"> {
  let summary = "Closes the pipeline phase";
  let description = [{
    Checks of a function with `parplan.micro_batches` that
    * no `accumulate` and no `parplan.per_micro_batch` is left;
    * arguments with `parplan.batch` are [micro-batches, ..], and the
      first dimension is not split.
  }];
}

#endif // PARPLAN_PASSES_PIPELINE_PASSES_TD
