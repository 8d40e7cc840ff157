//===- Indexing.cpp - Operations that read at indices ---------------------===//
//
// Part of parplan. Indexed, sorted and scanned dimensions are blocked; the
// others are parallel.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/Inference.h"
#include "dialects/parplan/RuleBuilder.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *,
                                            OptionalLocation location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType table = getTensorType(adaptor.getTable());
  if (table.getRank() != 2)
    return emitOptionalError(location, "table has rank ", table.getRank(),
                             ", not 2");
  Shape shape(getShape(adaptor.getIds()));
  shape.push_back(table.getDimSize(1));
  types.push_back(RankedTensorType::get(shape, table.getElementType()));
  return success();
}

std::string getIdFactorName(size_t rank, size_t dim) {
  if (rank == 1)
    return "s";
  return rank == 2 ? (dim == 0 ? "b" : "s") : "i" + std::to_string(dim);
}

/// onehot(ids) x table: factors b and s of the ids (i0, i1, .. at other
/// ranks), v of the rows (summed over: ids outside of the block give zeros), d.
ShardingRule EmbeddingOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> ids = getShape(getIds()), table = getShape(getTable());
  for (auto [dim, size] : llvm::enumerate(ids)) {
    int factor = builder.add(getIdFactorName(ids.size(), dim), size);
    builder.operand(0, dim, factor).result(0, dim, factor);
  }
  int rows = builder.add("v", table[0], FactorKind::reduceSum);
  builder.operand(1, 0, rows).number(rows);
  int width = builder.add("d", table[1]);
  builder.operand(1, 1, width).result(0, ids.size(), width);
  return builder.finish();
}

/// Reads the rows that it looks up, not the table: one copy of the result.
OpWork EmbeddingOp::getWork() { return getCopyWork(); }

/// A padded id is 0, and row 0 is not zero.
bool EmbeddingOp::keepsZeroPadding(int factor) {
  return !hasFactor(getShardingRule().operands[0], factor);
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> inferGather(OptionalLocation location,
                                        RankedTensorType data,
                                        ArrayRef<int64_t> indices,
                                        int64_t dim) {
  if (failed(requireDim(location, dim, data.getRank())))
    return failure();
  Shape shape(data.getShape().take_front(dim));
  llvm::append_range(shape, indices);
  llvm::append_range(shape, data.getShape().drop_front(dim + 1));
  return RankedTensorType::get(shape, data.getElementType());
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *,
                                         OptionalLocation location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  return appendType(inferGather(location, getTensorType(adaptor.getData()),
                                getShape(adaptor.getIndices()),
                                adaptor.getDim()),
                    types);
}

ShardingRule GatherOp::getShardingRule() {
  RuleBuilder builder(*this);
  int64_t gathered = getDim();
  int64_t indexRank = getShape(getIndices()).size();
  for (int64_t dim = 0, rank = getShape(getData()).size(); dim < rank; ++dim)
    if (dim != gathered)
      builder.addParallel("d" + Twine(dim), dim,
                          dim < gathered ? dim : dim + indexRank - 1);
  for (auto [dim, size] : llvm::enumerate(getShape(getIndices()))) {
    int factor = builder.add("i" + Twine(dim), size);
    builder.operand(1, dim, factor).result(0, gathered + dim, factor);
  }
  return builder.finish();
}
OpWork GatherOp::getWork() { return getCopyWork(); }

/// A padded index is 0, and block 0 is not zero.
bool GatherOp::keepsZeroPadding(int factor) {
  return hasFactor(getShardingRule().operands[0], factor);
}

//===----------------------------------------------------------------------===//
// GatherElements
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> inferGatherElements(OptionalLocation location,
                                                RankedTensorType data,
                                                ArrayRef<int64_t> indices,
                                                int64_t gathered) {
  if (failed(requireDim(location, gathered, data.getRank())))
    return failure();
  bool fits = indices.size() == static_cast<size_t>(data.getRank());
  for (size_t dim = 0; fits && dim < indices.size(); ++dim)
    fits = static_cast<int64_t>(dim) == gathered ||
           indices[dim] <= data.getDimSize(dim);
  if (!fits)
    return emitOptionalError(location, "indices of shape ", printShape(indices),
                             " do not fit into data of shape ",
                             printShape(data.getShape()));
  return RankedTensorType::get(indices, data.getElementType());
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *,
                                                 OptionalLocation location,
                                                 Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  return appendType(
      inferGatherElements(location, getTensorType(adaptor.getData()),
                          getShape(adaptor.getIndices()), adaptor.getDim()),
      types);
}

ShardingRule GatherElementsOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> data = getShape(getData());
  for (auto [dim, size] : llvm::enumerate(getShape(getIndices()))) {
    bool isGathered = dim == getDim();
    // Indices may cover a part of the data: such a dimension is cut.
    bool isPart = !isGathered && data[dim] != size;
    int factor =
        builder.add("d" + Twine(dim), size,
                    isPart ? FactorKind::blocked : FactorKind::parallel);
    builder.operand(1, dim, factor).result(0, dim, factor);
    if (!isGathered && !isPart)
      builder.operand(0, dim, factor);
  }
  return builder.finish();
}
OpWork GatherElementsOp::getWork() { return getCopyWork(); }
bool GatherElementsOp::keepsZeroPadding(int factor) {
  return hasFactor(getShardingRule().operands[0], factor);
}

//===----------------------------------------------------------------------===//
// GatherND
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> inferGatherND(OptionalLocation location,
                                          RankedTensorType data,
                                          ArrayRef<int64_t> indices,
                                          int64_t batchDims) {
  int64_t indexRank = indices.size();
  if (batchDims < 0 || indexRank < 1 || batchDims > indexRank - 1 ||
      batchDims + indices.back() > data.getRank() ||
      indices.take_front(batchDims) != data.getShape().take_front(batchDims))
    return emitOptionalError(location, "indices of shape ", printShape(indices),
                             " with ", batchDims,
                             " batch dimensions do not fit data of shape ",
                             printShape(data.getShape()));
  Shape shape(indices.drop_back());
  llvm::append_range(shape,
                     data.getShape().drop_front(batchDims + indices.back()));
  return RankedTensorType::get(shape, data.getElementType());
}

LogicalResult GatherNDOp::inferReturnTypes(MLIRContext *,
                                           OptionalLocation location,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  return appendType(inferGatherND(location, getTensorType(adaptor.getData()),
                                  getShape(adaptor.getIndices()),
                                  adaptor.getBatchDims()),
                    types);
}

ShardingRule GatherNDOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> data = getShape(getData()),
                    indices = getShape(getIndices());
  int64_t batchDims = getBatchDims();
  int64_t indexDims = indices.size() - 1;
  for (int64_t dim = 0; dim < indexDims; ++dim) {
    int factor = builder.add("i" + Twine(dim), indices[dim]);
    builder.operand(1, dim, factor).result(0, dim, factor);
    if (dim < batchDims)
      builder.operand(0, dim, factor);
  }
  int64_t firstWhole = batchDims + indices.back();
  for (int64_t dim = firstWhole, rank = data.size(); dim < rank; ++dim)
    builder.addParallel("d" + Twine(dim), dim, indexDims + dim - firstWhole);
  return builder.finish();
}
OpWork GatherNDOp::getWork() { return getCopyWork(); }
bool GatherNDOp::keepsZeroPadding(int factor) {
  return hasFactor(getShardingRule().operands[0], factor);
}

//===----------------------------------------------------------------------===//
// TopK
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context,
                                       OptionalLocation location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType input = getTensorType(adaptor.getInput());
  int64_t dim = adaptor.getDim(), count = adaptor.getK();
  if (failed(requireDim(location, dim, input.getRank())))
    return failure();
  if (count < 0 || count > input.getDimSize(dim))
    return emitOptionalError(location, "takes ", count, " of ",
                             input.getDimSize(dim), " elements");
  Shape shape(input.getShape());
  shape[dim] = count;
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}

ShardingRule TopKOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (size_t dim = 0; dim < getShape(getInput()).size(); ++dim)
    if (dim != getDim())
      builder.result(1, dim, builder.addParallel("d" + Twine(dim), dim, dim));
  return builder.finish();
}

/// One comparison per element and selected element.
OpWork TopKOp::getWork() {
  return getReductionWork(getShardingRule(), static_cast<double>(getK()));
}

/// The indices of equal zeros are 0, 1, ...
bool TopKOp::keepsZeroPadding(int) { return false; }

//===----------------------------------------------------------------------===//
// CumSum
//===----------------------------------------------------------------------===//

LogicalResult CumSumOp::verify() {
  return requireDim(getLoc(), getDim(), getType().getRank());
}

ShardingRule CumSumOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (auto [dim, size] : llvm::enumerate(getShape(getInput()))) {
    int factor = builder.add("d" + Twine(dim), size,
                             dim == getDim() ? FactorKind::blocked
                                             : FactorKind::parallel);
    builder.operand(0, dim, factor).result(0, dim, factor);
  }
  return builder.finish(Linearity::jointly);
}
OpWork CumSumOp::getWork() { return getReductionWork(getShardingRule(), 1); }
bool CumSumOp::keepsZeroPadding(int) { return true; }

} // namespace parplan
