//===- LocalOffsets.cpp - Local ops that depend on positions --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/LocalOffsets.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {

/// The first index of this rank's block, as a scalar of `elementType`.
static Value createStart(OpBuilder &builder, Location location, int64_t size,
                         ArrayRef<int> axes, Type elementType,
                         const ShardingAccess &access) {
  auto offsetType = RankedTensorType::get({}, builder.getI64Type());
  Value start = builder.create<BlockStartOp>(location, offsetType,
                                             builder.getI64IntegerAttr(size),
                                             access.getAttr(axes));
  if (elementType == offsetType.getElementType())
    return start;
  return builder.create<CastOp>(location,
                                RankedTensorType::get({}, elementType), start);
}

static Value createScalar(OpBuilder &builder, Location location,
                          int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return builder.create<ConstantOp>(location, type,
                                    DenseElementsAttr::get(type, value));
}

Value createLocalIota(OpBuilder &builder, IotaOp iota, const Sharding &sharding,
                      const ShardingAccess &access) {
  auto global = cast<RankedTensorType>(iota.getResult().getType());
  RankedTensorType type = access.getLocalType(global, sharding);
  int64_t dim = iota.getDim();
  Location location = iota.getLoc();
  Value indices =
      builder.create<IotaOp>(location, type, builder.getI64IntegerAttr(dim));
  if (sharding.dims[dim].empty())
    return indices;
  Value start = createStart(builder, location, global.getDimSize(dim),
                            sharding.dims[dim], type.getElementType(), access);
  return builder.create<AddOp>(location, indices, start);
}

/// coefficient * (index along `dim` + start of the block), with size 1 in the
/// other dimensions.
static Value createMaskTerm(OpBuilder &builder, AffineMaskOp mask, int64_t dim,
                            const Sharding &sharding,
                            const ShardingAccess &access) {
  Location location = mask.getLoc();
  auto global = cast<RankedTensorType>(mask.getResult().getType());
  int64_t localSize = access.getLocalType(global, sharding).getDimSize(dim);
  SmallVector<int64_t> shape(global.getRank(), 1);
  shape[dim] = localSize;
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  Value term =
      builder.create<IotaOp>(location, type, builder.getI64IntegerAttr(dim));
  if (!sharding.dims[dim].empty())
    term = builder.create<AddOp>(
        location, term,
        createStart(builder, location, global.getDimSize(dim),
                    sharding.dims[dim], builder.getI64Type(), access));
  int64_t coefficient = mask.getCoefficients()[dim];
  if (coefficient == 1)
    return term;
  return builder.create<MulOp>(location, term,
                               createScalar(builder, location, coefficient));
}

Value createLocalMask(OpBuilder &builder, AffineMaskOp mask,
                      const Sharding &sharding, const ShardingAccess &access) {
  Location location = mask.getLoc();
  auto global = cast<RankedTensorType>(mask.getResult().getType());
  RankedTensorType type = access.getLocalType(global, sharding);
  bool shifted = false;
  for (auto [coefficient, axes] :
       llvm::zip_equal(mask.getCoefficients(), sharding.dims))
    shifted |= coefficient != 0 && !axes.empty();
  if (!shifted)
    return builder.create<AffineMaskOp>(
        location, type, mask.getCoefficientsAttr(), mask.getConstantAttr());
  Value sum;
  for (auto [dim, coefficient] : llvm::enumerate(mask.getCoefficients())) {
    if (coefficient == 0)
      continue;
    Value term = createMaskTerm(builder, mask, dim, sharding, access);
    sum = sum ? builder.create<AddOp>(location, sum, term).getResult() : term;
  }
  Value limit = createScalar(builder, location, -mask.getConstant());
  Value inside = builder.create<CompareOp>(
      location,
      ComparePredicateAttr::get(builder.getContext(), ComparePredicate::le),
      sum, limit);
  if (inside.getType() == type)
    return inside;
  return builder.create<BroadcastOp>(location, type, inside);
}

void shiftIds(OpOperand &ids, int64_t rowCount, ArrayRef<int> axes,
              const ShardingAccess &access) {
  OpBuilder builder(ids.getOwner());
  Location location = ids.getOwner()->getLoc();
  auto type = cast<RankedTensorType>(ids.get().getType());
  Value start = createStart(builder, location, rowCount, axes,
                            type.getElementType(), access);
  ids.set(builder.create<SubOp>(location, ids.get(), start));
}

Value shiftOffset(OpBuilder &builder, Location location, Value offset,
                  SplitDim queries, SplitDim keys,
                  const ShardingAccess &access) {
  auto getStart = [&](SplitDim dim) {
    return createStart(builder, location, dim.size, dim.axes,
                       builder.getI64Type(), access);
  };
  if (!queries.axes.empty()) {
    Value start = getStart(queries);
    offset = offset ? builder.create<AddOp>(location, offset, start).getResult()
                    : start;
  }
  if (!keys.axes.empty()) {
    if (!offset)
      offset = createScalar(builder, location, 0);
    offset = builder.create<SubOp>(location, offset, getStart(keys));
  }
  return offset;
}

void shiftQueries(Operation *local, SplitDim queries, SplitDim keys,
                  const ShardingAccess &access) {
  OpBuilder builder(local);
  llvm::TypeSwitch<Operation *>(local).Case<AttentionOp, AttentionGradientOp>(
      [&](auto attention) {
        if (!attention.getCausal() ||
            (queries.axes.empty() && keys.axes.empty()))
          return;
        attention.getQueryOffsetMutable().assign(
            shiftOffset(builder, local->getLoc(), attention.getQueryOffset(),
                        queries, keys, access));
      });
}

void shiftExperts(Operation *local, int64_t groupCount, ArrayRef<int> axes,
                  const ShardingAccess &access) {
  OpBuilder builder(local);
  Location location = local->getLoc();
  Value start = createStart(builder, location, groupCount, axes,
                            builder.getI64Type(), access);
  llvm::TypeSwitch<Operation *>(local)
      .Case<MatmulOp, PanelMatmulOp, MoeDispatchOp, MoeCombineOp,
            MoeWeightGradientOp>([&](auto op) {
        int64_t experts = ExpertGroups::read(op.getGroups()).experts;
        Value first = start;
        if (experts > 1)
          first = builder.create<MulOp>(
              location, start, createScalar(builder, location, experts));
        op.getFirstExpertMutable().assign(first);
      });
}

} // namespace parplan
