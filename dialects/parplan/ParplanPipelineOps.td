//===- ParplanPipelineOps.td - Positions and tiers -*- tablegen -*-===//
//
// What moves between the programs of two pipeline positions, and between the
// tiers of memory of one rank. After localisation: types are local.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PIPELINE_OPS_TD
#define PARPLAN_PIPELINE_OPS_TD

include "dialects/parplan/ParplanBase.td"
include "dialects/parplan/ParplanInterfaces.td"

/// Has effects: never erased, merged or moved.
class Parplan_PointToPointOp<string mnemonic>
    : Parplan_Op<mnemonic, [PointToPointOpInterface]> {
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::parplan::verifyPointToPoint(getOperation());
    }
  }];
}

def Parplan_SendOp : Parplan_PointToPointOp<"send"> {
  let summary = "Hands a value to the same coordinates of another position";
  let description = [{
    Example: `parplan.send %v to 1 over <"pp0"> : tensor<4x8xf32>`. Messages from
    one position to another are received in the order in which they are sent.

    Constraints (P9):
    * the function has `parplan.position`, and the module one mesh;
    * `axes` is its one axis with the role of a pipeline, or, between workers and
      servers, all axes;
    * `peer` is a position along it, and not the function's own; between workers
      and servers a rank of the other kind, or, for servers that apply what one
      worker has pushed, -1: that worker.

    A message `with_next` and the op behind it, which is one the other way (P13),
    are issued together, on both sides: the link is duplex. Where a later pass
    puts something between them, they are issued one by one.
  }];
  let arguments = (ins Parplan_Tensor:$input, I64Attr:$peer,
      Parplan_AxisListAttr:$axes, UnitAttr:$with_next);
  let assemblyFormat = [{
    $input `to` $peer `over` $axes (`with_next` $with_next^)? attr-dict
    `:` type($input)
  }];
}

def Parplan_ReceiveOp : Parplan_PointToPointOp<"receive"> {
  let summary = "The next value that another position sends here";
  let description = [{
    Example: `%v = parplan.receive from 0 over <"pp0"> : tensor<4x8xf32>`. The type
    is that of the message (P11).

    Constraints (P9): those of `send`.
  }];
  let arguments = (ins I64Attr:$peer, Parplan_AxisListAttr:$axes,
      UnitAttr:$with_next);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = [{
    `from` $peer `over` $axes (`with_next` $with_next^)? attr-dict
    `:` type($result)
  }];
}

def Parplan_TransferOp
    : Parplan_Op<"transfer", [Pure, SameOperandsAndResultType]> {
  let summary = "The same value in another tier of memory";
  let description = [{
    Example: `%h = parplan.transfer %v to "host" : tensor<4x8xf32>`. Where the
    operand lies is what its maker says: another transfer, or `parplan.tier` of a
    parameter; device, where neither says anything.

    Constraints:
    * the tier is device, host or nvme.
  }];
  let arguments = (ins Parplan_Tensor:$input, StrAttr:$tier);
  let results = (outs Parplan_Tensor:$result);
  let assemblyFormat = "$input `to` $tier attr-dict `:` type($input)";
  let hasVerifier = 1;
}

#endif // PARPLAN_PIPELINE_OPS_TD
