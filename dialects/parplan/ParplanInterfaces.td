//===- ParplanInterfaces.td - What an op answers ----------*- tablegen -*-===//

#ifndef PARPLAN_INTERFACES_TD
#define PARPLAN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::parplan";
  let description = [{
    How the dimensions of operands and results correspond. Planning, resharding
    and localisation read only this.
  }];
  let methods = [
    InterfaceMethod<[{
      Returns the factors of the op and the factors of every dimension of every
      operand and result, for the types that the op has now.
    }], "::parplan::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
      True when zeros in the padding of factor `factor` of the operands give zeros
      there in every result that has the factor, and change nothing in results
      that lack it (S4). Where it is false, padding has to be cleared: after the op
      with zero, or, for a `reduceMax` factor, before it with -infinity.
    }], "bool", "keepsZeroPadding", (ins "int":$factor), "", [{ return false; }]>
  ];
}

def CostOpInterface
    : OpInterface<"CostOpInterface", [ShardingRuleOpInterface]> {
  let cppNamespace = "::parplan";
  let description = [{
    What the op costs on one device, as a function of the factor sizes that the
    device holds: the planner prices any placement without creating operations.
  }];
  let methods = [
    InterfaceMethod<[{
      Returns the work of the op as data: a sum of terms, each a coefficient times
      the product of some factors of the rule.
    }], "::parplan::OpWork", "getWork">,
    InterfaceMethod<[{
      Returns the work of a device that holds `localFactorSizes` of the factors of
      the rule; bytes follow from the rule and the element types.
    }], "::parplan::OpCost", "getLocalCost",
    (ins "::llvm::ArrayRef<int64_t>":$localFactorSizes), "", [{
      return ::parplan::evaluateWork($_op, localFactorSizes);
    }]>
  ];
}

def DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::parplan";
  let description = [{
    A composite that also exists as a sequence of smaller ops: the fallback when
    a coupled factor is split, and the test oracle.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the equal sequence before the op and returns the values that replace
      its results. Does not erase the op.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose",
    (ins "::mlir::OpBuilder &":$builder)>
  ];
}

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::parplan";
  let description = [{
    Reverse mode. `differentiate` (ReverseMode.h) calls this op by op.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradients of the operands from those of the results; a null
      result gradient is zero, and one of them is not null. Answers with one value
      per operand, of the operand's type, null where the gradient is zero
      (almost everywhere) or `gradients` does not need it. Builds nothing that
      only such operands want.
    }], "::llvm::SmallVector<::mlir::Value>", "buildBackward",
    (ins "::parplan::GradientBuilder &":$gradients,
         "::llvm::ArrayRef<::mlir::Value>":$resultGradients)>
  ];
}

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::parplan";
  let description = [{
    What a collective moves and along which axes. Cost, scheduling and emission
    read only this.
  }];
  let methods = [
    InterfaceMethod<"Returns the axes of the communicator, major to minor.",
      "::parplan::AxisListAttr", "getCollectiveAxes">,
    InterfaceMethod<"Returns the kind of communication.",
      "::parplan::CollectiveKind", "getCollectiveKind">
  ];
}

def PointToPointOpInterface : OpInterface<"PointToPointOpInterface"> {
  let cppNamespace = "::parplan";
  let description = [{
    One side of a message between two positions of a pipeline (P9).
  }];
  let methods = [
    InterfaceMethod<"Returns the position along the axis on the other side.",
      "uint64_t", "getPeer">,
    InterfaceMethod<"Returns the axis, a list of one.",
      "::parplan::AxisListAttr", "getAxes">,
    InterfaceMethod<"Returns what is sent, or what comes in.",
      "::mlir::Value", "getMessage", (ins), "", [{
      return $_op->getNumResults() == 1 ? ::mlir::Value($_op->getResult(0))
                                        : $_op->getOperand(0);
    }]>
  ];
}

#endif // PARPLAN_INTERFACES_TD
