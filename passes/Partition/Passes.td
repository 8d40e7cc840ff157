//===- Passes.td - From sharded global types to local programs -*- tablegen -*-===//

#ifndef PARPLAN_PASSES_PARTITION_PASSES_TD
#define PARPLAN_PASSES_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeSplitComposites
    : Pass<"parplan-decompose-split-composites", "::mlir::ModuleOp"> {
  let summary = "Decomposes composites that an axis splits inside";
  let description = [{
    In: every op with a sharding rule has `parplan.factors` and, as the sharding
    of its results at rest, `parplan.shardings`.

    An op with axes on a coupled factor (the keys of attention, the normalised
    dimension of softmax) becomes the sequence of its parts. The parts read the
    layouts that the composite reads, their factors follow from there, and
    reductions between them are completed where they are made.

    Out: no axis lies on a coupled factor.
  }];
}

def InsertReshards : Pass<"parplan-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "Makes every change of layout a reshard op";
  let description = [{
    In: as parplan-decompose-split-composites leaves it.

    A result that rests in another layout than its op makes is followed by a
    reshard; each other layout in which it is used has one reshard, before the
    first such use (S15). Constants, iotas and masks are made directly in every
    layout that is asked for; a parameter is loaded in the layout it rests in.

    Out: `parplan.shardings` is what an op makes (S7), every operand lies in the
    layout that its op reads (S7, S8, S9), and the operands of `return` in that
    of the function's results.
  }];
}

def ReshardsToCollectives
    : Pass<"parplan-reshards-to-collectives", "::mlir::ModuleOp"> {
  let summary = "Carries out reshards by local moves and collectives";
  let description = [{
    Every `parplan.reshard` becomes the cheapest path of moves (S11). Types stay
    global.
  }];
}

def Localize : Pass<"parplan-localize", "::mlir::ModuleOp"> {
  let summary = "Replaces global types by the types of one rank's blocks";
  let description = [{
    The one pass in which local shapes appear. Local types follow from shardings
    (S3, S6); re-inferred types must equal them. What depends on positions (rows
    of a split table, indices, masks, causal attention) is shifted by
    `parplan.block_start`; padding is cleared where an op would not keep it zero,
    and is -inf before a maximum (S4). An op with panels becomes the local op that
    moves them (S21). Arguments, results and ops keep the global type as
    `parplan.global_type`.
  }];
}

def VerifyLocal : Pass<"parplan-verify-local", "::mlir::ModuleOp"> {
  let summary = "Closes the partition phase";
  let description = [{
    Checks that
    * shardings obey S1 and S2, nothing pending or stored leaves a function, and
      results lie where the function says;
    * no reshard is left;
    * every value has the local type of its sharding and global type (S3, S6);
    * padding is cleared after ops that do not keep it zero (S4);
    * operands and results of ops that move panels lie split as these say (S21).

    That operands lie as ops read them is checked on global types, where
    parplan-localize begins; moves and collectives are checked by the dialect.
  }];
}

#endif // PARPLAN_PASSES_PARTITION_PASSES_TD
