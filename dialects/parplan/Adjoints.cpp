//===- Adjoints.cpp - Adjoints of ops that read at indices ----------------===//
//
// Part of parplan. An adjoint has the factors of its op. Those that its result
// lacks, the indices, are summed over.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/Inference.h"
#include "dialects/parplan/RuleBuilder.h"

using namespace mlir;

namespace parplan {

/// Checks that the gradient has the type that the op makes of the result.
static LogicalResult verifyGradient(Operation *op, Value gradient,
                                    FailureOr<RankedTensorType> expected) {
  if (failed(expected))
    return failure();
  if (gradient.getType() != *expected)
    return op->emitOpError("needs a gradient of ")
           << *expected << ", not " << gradient.getType();
  return success();
}

/// One addition per element of the gradient.
static OpWork getScatterWork(const ShardingRule &rule, unsigned gradient) {
  OpWork work;
  work.kind = WorkKind::reduction;
  work.flops.push_back(termOver(1, rule.operands[gradient]));
  return work;
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingGradientOp::verify() {
  RankedTensorType table = getType();
  if (table.getRank() != 2)
    return emitOpError("table has rank ") << table.getRank() << ", not 2";
  Shape shape(getShape(getIds()));
  shape.push_back(table.getDimSize(1));
  return verifyGradient(*this, getGradient(), table.clone(shape));
}

ShardingRule EmbeddingGradientOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> ids = getShape(getIds()), table = getShape(getResult());
  for (auto [dim, size] : llvm::enumerate(ids)) {
    int factor = builder.add(getIdFactorName(ids.size(), dim), size,
                             FactorKind::reduceSum);
    builder.operand(0, dim, factor).operand(1, dim, factor);
  }
  int rows = builder.add("v", table[0]);
  builder.result(0, 0, rows).number(rows);
  int width = builder.add("d", table[1]);
  builder.operand(1, ids.size(), width).result(0, 1, width);
  return builder.finish();
}
OpWork EmbeddingGradientOp::getWork() {
  return getScatterWork(getShardingRule(), /*gradient=*/1);
}
/// An id outside of the table may lie in the padding of its last block.
bool EmbeddingGradientOp::keepsZeroPadding(int factor) {
  return getShardingRule().factors[factor].name != "v";
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

LogicalResult GatherGradientOp::verify() {
  return verifyGradient(
      *this, getGradient(),
      inferGather(getLoc(), getType(), getShape(getIndices()), getDim()));
}

ShardingRule GatherGradientOp::getShardingRule() {
  RuleBuilder builder(*this);
  int64_t gathered = getDim();
  int64_t indexRank = getShape(getIndices()).size();
  for (int64_t dim = 0, rank = getShape(getResult()).size(); dim < rank; ++dim)
    if (dim != gathered)
      builder.addParallel("d" + Twine(dim),
                          dim < gathered ? dim : dim + indexRank - 1, dim);
  for (auto [dim, size] : llvm::enumerate(getShape(getIndices()))) {
    int factor = builder.add("i" + Twine(dim), size, FactorKind::reduceSum);
    builder.operand(1, dim, factor).operand(0, gathered + dim, factor);
  }
  return builder.finish();
}
OpWork GatherGradientOp::getWork() {
  return getScatterWork(getShardingRule(), /*gradient=*/0);
}
/// A padded index adds a gradient of zero to block 0.
bool GatherGradientOp::keepsZeroPadding(int) { return true; }

//===----------------------------------------------------------------------===//
// GatherElements
//===----------------------------------------------------------------------===//

LogicalResult GatherElementsGradientOp::verify() {
  return verifyGradient(*this, getGradient(),
                        inferGatherElements(getLoc(), getType(),
                                            getShape(getIndices()), getDim()));
}

ShardingRule GatherElementsGradientOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> data = getShape(getResult());
  for (auto [dim, size] : llvm::enumerate(getShape(getIndices()))) {
    bool isGathered = dim == getDim();
    // Indices may cover a part of the data: such a dimension is cut.
    bool isPart = !isGathered && data[dim] != size;
    int factor = builder.add("d" + Twine(dim), size,
                             isGathered ? FactorKind::reduceSum
                             : isPart   ? FactorKind::blocked
                                        : FactorKind::parallel);
    builder.operand(0, dim, factor).operand(1, dim, factor);
    if (!isGathered && !isPart)
      builder.result(0, dim, factor);
  }
  return builder.finish();
}
OpWork GatherElementsGradientOp::getWork() {
  return getScatterWork(getShardingRule(), /*gradient=*/0);
}
bool GatherElementsGradientOp::keepsZeroPadding(int) { return true; }

//===----------------------------------------------------------------------===//
// GatherND
//===----------------------------------------------------------------------===//

LogicalResult GatherNDGradientOp::verify() {
  return verifyGradient(*this, getGradient(),
                        inferGatherND(getLoc(), getType(),
                                      getShape(getIndices()), getBatchDims()));
}

ShardingRule GatherNDGradientOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> data = getShape(getResult()),
                    indices = getShape(getIndices());
  int64_t batchDims = getBatchDims();
  int64_t indexDims = indices.size() - 1;
  for (int64_t dim = 0; dim < indexDims; ++dim) {
    int factor = builder.add("i" + Twine(dim), indices[dim],
                             dim < batchDims ? FactorKind::parallel
                                             : FactorKind::reduceSum);
    builder.operand(0, dim, factor).operand(1, dim, factor);
    if (dim < batchDims)
      builder.result(0, dim, factor);
  }
  int64_t firstWhole = batchDims + indices.back();
  for (int64_t dim = firstWhole, rank = data.size(); dim < rank; ++dim)
    builder.addParallel("d" + Twine(dim), indexDims + dim - firstWhole, dim);
  return builder.finish();
}
OpWork GatherNDGradientOp::getWork() {
  return getScatterWork(getShardingRule(), /*gradient=*/0);
}
bool GatherNDGradientOp::keepsZeroPadding(int) { return true; }

} // namespace parplan
