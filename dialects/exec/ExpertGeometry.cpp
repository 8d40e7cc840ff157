//===- ExpertGeometry.cpp - Statements of experts stay inside -------------===//
//
// Part of parplan. E9 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/GeometryChecks.h"

using namespace mlir;
using namespace parplan::exec;

/// Checks the arrays that all have: `values` [e, t, d], `rows` [t, d],
/// `routing` [t, k] of the element type of the others, experts [t, k].
template <typename Statement>
static LogicalResult expectRouting(Statement op, Value values, Value rows,
                                   Value routing) {
  ArrayRef<int64_t> shape = op.getShape();
  if (shape.size() != 4)
    return op.emitOpError(
        "needs the sizes experts, tokens, width, experts per token (E9)");
  int64_t experts = shape[0], tokens = shape[1], width = shape[2];
  int64_t choices = tokens * shape[3];
  if (failed(expectSameType(op, {values, rows, routing})) ||
      failed(expectElements(op, values, experts * tokens * width, "values")) ||
      failed(expectElements(op, rows, tokens * width, "tokens")) ||
      failed(expectElements(op, routing, choices, "weights")) ||
      failed(expectElements(op, op.getExperts(), choices, "experts")) ||
      failed(expectElements(op, op.getFirstExpert(), 1, "first")))
    return failure();
  Type index = getBufferType(op.getExperts()).getElementType();
  if (!index.isSignlessInteger(32) && !index.isSignlessInteger(64))
    return op.emitOpError("has experts of ")
           << index << ", not of i32 or i64 (E9)";
  if (op.getFirstExpert() &&
      !getBufferType(op.getFirstExpert()).getElementType().isInteger(64))
    return op.emitOpError("counts experts from a value that is not i64 (E9)");
  return success();
}

LogicalResult MoeDispatchOp::verifyGeometry() {
  return expectRouting(*this, getOutput(), getTokens(), getWeights());
}

LogicalResult MoeCombineOp::verifyGeometry() {
  return expectRouting(*this, getValues(), getOutput(), getWeights());
}

LogicalResult MoeWeightGradientOp::verifyGeometry() {
  return expectRouting(*this, getValues(), getGradient(), getOutput());
}
