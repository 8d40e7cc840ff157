//===- ExpertGeometry.cpp - Statements of experts stay inside -------------===//
//
// Part of parplan. E9 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/GeometryChecks.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

/// Checks `experts` [t, k], which are `choices`, and `first`.
template <typename Statement>
static LogicalResult expectExperts(Statement op, int64_t choices) {
  if (failed(expectElements(op, op.getExperts(), choices, "experts")) ||
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
      failed(expectElements(op, routing, choices, "weights")))
    return failure();
  return expectExperts(op, choices);
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

bool MoeMatmulOp::holdsIssue() { return true; }

bool MoeMatmulOp::readsWritten() { return getAccumulate(); }

unsigned MoeMatmulOp::getWrittenCount() { return getWorkspace() ? 2 : 1; }

LogicalResult MoeMatmulOp::verifyGeometry() {
  if (getSizes().size() != 2 || getShape().size() != 3 ||
      getLhsStrides().size() != 2 || getRhsStrides().size() != 2 ||
      getOutputStrides().size() != 2 || getExpertStrides().size() != 3)
    return emitOpError(
        "needs experts and experts per token, m, n, k, and three "
        "strides per operand (E9)");
  int64_t experts = getSizes()[0];
  int64_t m = getShape()[0], n = getShape()[1], k = getShape()[2];
  auto check = [&](Value buffer, int64_t rows, int64_t columns,
                   ArrayRef<int64_t> strides, int64_t expertStride,
                   StringRef name) {
    return expectReach(*this, buffer, 0, {experts, rows, columns},
                       {expertStride, strides[0], strides[1]}, name);
  };
  if (failed(expectSameType(*this, {getLhs(), getRhs(), getOutput()})) ||
      failed(check(getLhs(), m, k, getLhsStrides(), getExpertStrides()[0],
                   "lhs")) ||
      failed(check(getRhs(), k, n, getRhsStrides(), getExpertStrides()[1],
                   "rhs")) ||
      failed(check(getOutput(), m, n, getOutputStrides(), getExpertStrides()[2],
                   "output")) ||
      failed(expectExperts(*this, (getSumsTokens() ? k : m) * getSizes()[1])))
    return failure();
  return expectWorkspace(
      *this, getWorkspace(),
      runtime::ExpertProductWorkspace(getRuntimeShape(*this),
                                      getElementBytes(getOutput()))
          .bytes);
}

runtime::ExpertProductShape exec::getRuntimeShape(MoeMatmulOp op) {
  ArrayRef<int64_t> shape = op.getShape(), between = op.getExpertStrides();
  ArrayRef<int64_t> lhs = op.getLhsStrides(), rhs = op.getRhsStrides(),
                    output = op.getOutputStrides();
  runtime::ExpertProductShape result = {op.getSizes()[0],
                                        op.getSizes()[1],
                                        op.getSumsTokens(),
                                        {between[0], between[1], between[2]},
                                        {shape[0], shape[1], shape[2], lhs[0],
                                         lhs[1], rhs[0], rhs[1], output[0],
                                         output[1]}};
  result.matrices.accumulate = op.getAccumulate();
  return result;
}
