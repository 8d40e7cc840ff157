//===- Passes.td - The order of causal sequences ----------*- tablegen -*-===//

#ifndef PARPLAN_PASSES_ORDER_PASSES_TD
#define PARPLAN_PASSES_ORDER_PASSES_TD

include "mlir/Pass/PassBase.td"

def BringIntoZigzagOrder
    : Pass<"parplan-bring-into-zigzag-order", "::mlir::ModuleOp"> {
  let summary = "Brings the sequence into zig-zag order";
  let description = [{
    In: @main in the model's order, before it is trained. Follows the sequence
    from causal attentions through the rules of all ops. Where it only meets
    factors that are independent of each other or reduced, and whose elements
    have no numbers, it is cut in 2n chunks, and chunks i and 2n-1-i become block
    i of n:

    * arguments and results get `parplan.zigzag`: the loader and the writer
      change the order;
    * what is made from indices (`iota`, `affine_mask`) reads positions; constants
      along the sequence are made in the order, parameters are gathered;
    * causal attentions get `zigzag`.

    Else nothing is changed, and a warning says what does not allow it.
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", "2", "ranks of the ring">
  ];
}

def VerifyOrder : Pass<"parplan-verify-order", "::mlir::ModuleOp"> {
  let summary = "Closes the order phase";
  let description = [{
    Checks that
    * no causal attention of @main lies in zig-zag order, or all do, over the
      same number of ranks;
    * those arguments and results have `parplan.zigzag` that the sequence
      reaches, along the dimensions that it has there;
    * nothing along the sequence reads an index or a parameter as it lies in the
      model.
  }];
}

#endif // PARPLAN_PASSES_ORDER_PASSES_TD
