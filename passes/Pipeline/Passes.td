//===- Passes.td - The order of work in a step -*- tablegen -*-===//

#ifndef PARPLAN_PASSES_PIPELINE_PASSES_TD
#define PARPLAN_PASSES_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Recompute : Pass<"parplan-recompute", "::mlir::ModuleOp"> {
  let summary = "Makes values again for the backward pass";
  let description = [{
    What ops of the backward pass read of a forward op with `parplan.recompute`,
    they read of a copy of the op that stands before the first of them. The copy
    reads values that are kept, or copies in its turn, but no copy of another
    stage: what comes from there is kept. Copies have the role `input_gradient`,
    but gathers `weight_gradient`: they run with the first that reads them. Moves
    that ended in such a value run again too; where the backward pass has
    the same move, it stands before the first of its readers, and serves all.

    Ops that run once per step are kept whatever they say.

    Out: no `parplan.recompute`.
  }];
}

def PlaceStages : Pass<"parplan-place-stages", "::mlir::ModuleOp"> {
  let summary = "Settles what every stage of a pipeline makes for itself";
  let description = [{
    In: a local program, one micro-batch, with `parplan.pipeline_schedule`, whose
    ops have `parplan.stage` or none.

    * A move between two stages goes to the side from which fewer bytes cross.
    * What depends on parameters and constants alone, and numbers of the step,
      has no stage: every stage that reads it makes it.
    * A parameter that several stages read is summed over micro-batches by
      stage; the lowest of them adds the sums in the order of stages. Every
      position that reads the parameter updates a copy of its own.
    * The sum over the squares of all variables is one per position, and then
      one `all_reduce` over the positions.

    Checks that no value flows to an earlier stage forward, or to a later one
    backward (P4).
  }];
}

def UnrollMicroBatches
    : Pass<"parplan-unroll-micro-batches", "::mlir::ModuleOp"> {
  let summary = "Writes out the passes of a step, for every pipeline position";
  let description = [{
    In: a training step whose ops with `parplan.per_micro_batch` run once for
    each of `parplan.micro_batches`. Functions without that attribute stay as
    they are.

    The step runs in segments: a segment ends with sums over all micro-batches
    that the next one reads (the number of labels, before the loss divides by
    it). An op runs in the last segment that serves all its readers, so that
    backward directly follows forward. Within a segment micro-batches follow each
    other; within a micro-batch the order of the program holds. What runs once
    per step takes its place in the last micro-batch of the segment that makes
    its operands: a gradient is reduced as soon as it is complete.

    A function with `parplan.pipeline_schedule` becomes one function @stage0,
    @stage1, .. per position of the pipeline axis, with the arguments, parameters
    and results that the position has. The last segment is then the passes of
    the schedule's table: in a pass of a stage stand its ops of a micro-batch,
    forward, backward, or one half of the backward pass. Values that another
    position reads are sent there, once. All positions issue their messages in
    one order, that of the simulated ends of the passes that make them: before
    the first own pass that starts later.

    `parplan.accumulate` becomes a chain of sums in the order of micro-batches.
    Arguments with `parplan.batch` get a leading dimension of micro-batches, and
    so do results with `parplan.batch_dim`, which have a part of each of them.

    Out: no `accumulate`, no `parplan.per_micro_batch`.
  }];
}

def VerifyUnrolled : Pass<"parplan-verify-unrolled", "::mlir::ModuleOp"> {
  let summary = "Closes the pipeline phase";
  let description = [{
    Checks of a function with `parplan.micro_batches` that
    * no `accumulate` and no `parplan.per_micro_batch` is left;
    * arguments with `parplan.batch` are [micro-batches, ..], and the
      first dimension is not split;
    * results with `parplan.batch_dim` are [micro-batches, ..].
  }];
}

def VerifyPipeline : Pass<"parplan-verify-pipeline", "::mlir::ModuleOp"> {
  let summary = "Checks the programs of the positions against each other";
  let description = [{
    Checks of the functions with `parplan.position` that
    * there is one for each position of the pipeline axis;
    * the messages of a pair of positions are received as they are sent (P11);
    * all of them run to their end when a send waits for its receive (P12);
    * messages that are issued together are one there and one back (P13);
    * passes are those of the schedule, in its order, and as many micro-batches
      are in flight as it says (P10).
  }];
}

#endif // PARPLAN_PASSES_PIPELINE_PASSES_TD
