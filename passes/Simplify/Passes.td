//===- Passes.td - From imported ops to composites --------*- tablegen -*-===//

#ifndef PARPLAN_PASSES_SIMPLIFY_PASSES_TD
#define PARPLAN_PASSES_SIMPLIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def Raise : Pass<"parplan-raise", "::mlir::ModuleOp"> {
  let summary = "Recognises composites and brings products into plannable form";
  let description = [{
    One walk in file order; every pattern starts at the last op of what it
    recognises and looks backwards at ops that are already raised. Afterwards
    what has no use is erased, from the end.

    * attention, layer and RMS norm, gelu, silu and rotary embedding become one
      op each;
    * sums over experts whose weights are picked per token become a dispatch of
      the tokens, products with the experts as batch, and a combine;
    * slices, transposes and reshapes of a parameter become its view;
    * a slice of a slice that nothing else reads becomes one slice;
    * a product whose result is cut into parts becomes one product per part;
      parts that overlap are slices of one part;
    * transposes of operands move into the spec of a product, and a product of
      flattened rows [b*s, k] becomes one of [b, s, k].
  }];
}

def RaiseExpertLoops : Pass<"parplan-raise-expert-loops", "::mlir::ModuleOp"> {
  let summary = "Recognises loops over experts that have weights of their own";
  let description = [{
    In: the result of `parplan-raise`. Terms of a sum that are the answer of an
    expert to all tokens, times a number per token that comes from comparing the
    token's choices with the number of the expert (or is the expert's column of
    a matrix), and that differ in nothing but that number and in the initializers
    they read, become a dispatch, products with the experts as batch, and a
    combine. The initializers are read as a stack.

    A sum is left as it is where experts are not numbered from 0, where something
    else reads their initializers, and where what they compute of zeros may not
    be finite.
  }];
}

def NumberBlocks : Pass<"parplan-number-blocks", "::mlir::ModuleOp"> {
  let summary = "Numbers the repeated blocks of a model";
  let description = [{
    Finds the longest run of equal consecutive sequences of ops (the layers) and
    writes `parplan.block` on their ops, 0 for the first sequence, so that
    equal layers can be planned as one.
  }];
}

def GroupExperts : Pass<"parplan-group-experts", "::mlir::ModuleOp"> {
  let summary = "Gives tokens rows for the experts that they have";
  let description = [{
    In: a simplified module in which every expert has a row for every token. Out:
    experts lie in groups of e / `groups`, and a token has as many rows in each
    as it may have experts there, at most its k. Ranks that share the experts
    of `groups` groups exchange no other rows.

    Experts stay as they are where that many groups do not divide them, where it
    saves no row, or where something reads rows that is not of one row alone, as
    the sum of an array that every expert has of its own (a bias).
  }];
  let options = [
    Option<"groups", "groups", "int64_t", "1", "groups of experts">
  ];
}

def WriteOutSinks : Pass<"parplan-write-out-sinks", "::mlir::ModuleOp"> {
  let summary = "Leaves no attention with a sink";
  let description = [{
    An attention with a sink becomes one with statistics, whose rows are
    multiplied by the share of the sum of exponentials that the sink leaves
    them. Behind the gradients.
  }];
}

def VerifySimplified : Pass<"parplan-verify-simplified", "::mlir::ModuleOp"> {
  let summary = "Closes the simplify phase";
  let description = [{
    Checks that
    * every op of a function is one of this dialect;
    * no shape arithmetic is left: an op whose operands are constants and whose
      few results are integers or conditions;
    * numbers of blocks ascend in the order of the ops;
    * an initializer is in one stack at most, and has no parameter of its own then.
  }];
}

#endif // PARPLAN_PASSES_SIMPLIFY_PASSES_TD
