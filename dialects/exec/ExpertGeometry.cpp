//===- ExpertGeometry.cpp - Statements of experts stay inside -------------===//
//
// Part of parplan. E9 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/GeometryChecks.h"

#include <limits>

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

/// Checks `experts` [t, k], which are `tokens` times `choices`, `first`, and
/// that `rows` of a token are whole groups with one for each of its experts.
template <typename Statement>
static LogicalResult expectExperts(Statement op, int64_t tokens,
                                   int64_t choices, int64_t rows) {
  if (std::optional<ArrayRef<int64_t>> groups = op.getGroups();
      groups && (groups->size() != 2 || (*groups)[0] < 1 || (*groups)[1] < 1 ||
                 (*groups)[1] < std::min((*groups)[0], choices) ||
                 rows % (*groups)[1] != 0))
    return op.emitOpError("has ")
           << rows << " rows of tokens with " << choices
           << " experts, which are no groups of rows for them (E9)";
  choices *= tokens;
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
        "needs the sizes rows, tokens, width, experts per token (E9)");
  int64_t tokens = shape[1], width = shape[2], choices = shape[3];
  if (failed(expectSameType(op, {values, rows, routing})) ||
      failed(expectElements(op, values, shape[0] * tokens * width, "values")) ||
      failed(expectElements(op, rows, tokens * width, "tokens")) ||
      failed(expectElements(op, routing, tokens * choices, "weights")))
    return failure();
  return expectExperts(op, tokens, choices, shape[0]);
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

bool MoeMatmulOp::holdsIssue() { return !getRuntimeShape(*this).isOfVectors(); }

bool MoeMatmulOp::readsWritten() { return getAccumulate(); }

unsigned MoeMatmulOp::getWrittenCount() { return getWorkspace() ? 2 : 1; }

LogicalResult MoeMatmulOp::verifyGeometry() {
  if (getSizes().size() != 2 || getShape().size() != 3 ||
      getLhsStrides().size() != 2 || getRhsStrides().size() != 2 ||
      getOutputStrides().size() != 2 || getExpertStrides().size() != 3)
    return emitOpError(
        "needs experts and experts per token, m, n, k, and three "
        "strides per operand (E9)");
  int64_t experts = getSizes()[0], choices = getSizes()[1];
  int64_t m = getShape()[0], n = getShape()[1], k = getShape()[2];
  int64_t rowCount = experts;
  if (std::optional<ArrayRef<int64_t>> groups = getGroups()) {
    if (groups->size() != 2 || (*groups)[0] < 1 || experts % (*groups)[0] != 0)
      return emitOpError("has experts that are no groups (E9)");
    rowCount = experts / (*groups)[0] * (*groups)[1];
  }
  // Kernels number rows of tokens in 32 bits.
  if (rowCount * (getSumsTokens() ? k : m) >
      std::numeric_limits<int32_t>::max())
    return emitOpError("has 2^31 rows or more (E9)");
  auto check = [&](Value buffer, bool hasTokens, int64_t rows, int64_t columns,
                   ArrayRef<int64_t> strides, int64_t expertStride,
                   StringRef name) {
    return expectReach(*this, buffer, 0,
                       {hasTokens ? rowCount : experts, rows, columns},
                       {expertStride, strides[0], strides[1]}, name);
  };
  if (failed(expectSameType(*this, {getLhs(), getRhs(), getOutput()})) ||
      failed(check(getLhs(), true, m, k, getLhsStrides(), getExpertStrides()[0],
                   "lhs")) ||
      failed(check(getRhs(), getSumsTokens(), k, n, getRhsStrides(),
                   getExpertStrides()[1], "rhs")) ||
      failed(check(getOutput(), !getSumsTokens(), m, n, getOutputStrides(),
                   getExpertStrides()[2], "output")) ||
      failed(expectExperts(*this, getSumsTokens() ? k : m, choices, rowCount)))
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
  if (std::optional<ArrayRef<int64_t>> groups = op.getGroups())
    result.groups = {(*groups)[0], (*groups)[1]};
  return result;
}
