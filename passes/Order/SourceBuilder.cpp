//===- SourceBuilder.cpp - Sources in another order -----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Order/SourceBuilder.h"

#include "dialects/parplan/TensorTypes.h"
#include "parplan/Sharding/Zigzag.h"

using namespace mlir;

namespace parplan::order {

/// An op in place of `origin`, of which it keeps what is said.
template <typename Op, typename... Arguments>
static Value create(OpBuilder &builder, Operation *origin,
                    Arguments &&...arguments) {
  auto op = builder.create<Op>(origin->getLoc(),
                               std::forward<Arguments>(arguments)...);
  op->setDiscardableAttrs(origin->getDiscardableAttrDictionary());
  return op;
}

Value SourceBuilder::get(Value source, ArrayRef<int64_t> dims) {
  auto [place, isNew] = made.try_emplace(
      {source.getAsOpaquePointer(), std::vector<int64_t>(dims)});
  if (isNew) {
    OpBuilder builder(source.getContext());
    builder.setInsertionPointAfter(source.getDefiningOp());
    place->second = build(builder, source.getDefiningOp(), dims);
  }
  return place->second;
}

Value SourceBuilder::build(OpBuilder &builder, Operation *op,
                           ArrayRef<int64_t> dims) {
  if (auto iota = dyn_cast<IotaOp>(op))
    return buildIndices(builder, iota, dims);
  if (auto mask = dyn_cast<AffineMaskOp>(op))
    return buildMask(builder, mask, dims);
  if (auto constant = dyn_cast<ConstantOp>(op))
    return buildConstant(builder, constant, dims);
  Value value = op->getResult(0);
  for (int64_t dim : dims) {
    Value positions =
        buildPositions(builder, op, {getTensorType(value).getDimSize(dim)},
                       /*dim=*/0, builder.getI64Type());
    value = create<GatherOp>(builder, op, value, positions, dim);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// The positions along `dim` of `shape`.
Value SourceBuilder::buildPositions(OpBuilder &builder, Operation *origin,
                                    ArrayRef<int64_t> shape, int64_t dim,
                                    Type element) {
  auto type = RankedTensorType::get(shape, element);
  int64_t size = shape[dim], stride = 1;
  for (int64_t inner : shape.drop_front(dim + 1))
    stride *= inner;
  SmallVector<Attribute> positions;
  for (int64_t index = 0; index < type.getNumElements(); ++index) {
    int64_t position = getZigzagPosition(index / stride % size, size, ranks);
    positions.push_back(
        isa<FloatType>(element)
            ? Attribute(builder.getFloatAttr(element, double(position)))
            : Attribute(builder.getIntegerAttr(element, position)));
  }
  return create<ConstantOp>(builder, origin,
                            DenseElementsAttr::get(type, positions));
}

/// Small ones as they are: an op takes longer than to load them.
Value SourceBuilder::buildIndices(OpBuilder &builder, IotaOp iota,
                                  ArrayRef<int64_t> dims) {
  constexpr int64_t maxElements = int64_t(1) << 16;
  int64_t dim = iota.getDim();
  if (!llvm::is_contained(dims, dim))
    return iota;
  RankedTensorType type = getTensorType(iota);
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[dim] = type.getDimSize(dim);
  if (type.getNumElements() <= maxElements)
    shape.assign(type.getShape().begin(), type.getShape().end());
  Value line = buildPositions(builder, iota, shape, dim, type.getElementType());
  return line.getType() == type
             ? line
             : create<BroadcastOp>(builder, iota, type, line);
}

/// `start` plus `factor` times the positions along `dim`, where the other
/// dimensions are 1.
Value SourceBuilder::buildLine(OpBuilder &builder, AffineMaskOp mask,
                               size_t dim, bool isOrdered, int64_t factor,
                               int64_t start) {
  RankedTensorType type = getTensorType(mask);
  SmallVector<int64_t> shape(type.getRank(), 1), numbers;
  int64_t size = shape[dim] = type.getDimSize(dim);
  for (int64_t index = 0; index < size; ++index)
    numbers.push_back(
        start + factor * getZigzagPosition(index, size, isOrdered ? ranks : 1));
  return create<ConstantOp>(
      builder, mask,
      DenseElementsAttr::get(RankedTensorType::get(shape, builder.getI64Type()),
                             ArrayRef<int64_t>(numbers)));
}

/// Compares the last term with what the others leave, so that no integers of
/// the mask's size are made.
Value SourceBuilder::buildMask(OpBuilder &builder, AffineMaskOp mask,
                               ArrayRef<int64_t> dims) {
  ArrayRef<int64_t> coefficients = mask.getCoefficients();
  SmallVector<size_t, 4> terms;
  for (auto [dim, coefficient] : llvm::enumerate(coefficients))
    if (coefficient != 0)
      terms.push_back(dim);
  if (terms.empty())
    return mask;
  auto build = [&](size_t dim, int64_t factor, int64_t start) {
    return buildLine(builder, mask, dim,
                     llvm::is_contained(dims, static_cast<int64_t>(dim)),
                     factor, start);
  };
  size_t last = terms.pop_back_val();
  Value term = build(last, coefficients[last], /*start=*/0);
  int64_t start = -static_cast<int64_t>(mask.getConstant());
  Value limit;
  for (size_t dim : terms) {
    Value line = build(dim, -coefficients[dim], limit ? 0 : start);
    limit = limit ? create<AddOp>(builder, mask, limit, line) : line;
  }
  if (!limit)
    limit = create<ConstantOp>(
        builder, mask,
        DenseElementsAttr::get(RankedTensorType::get({}, builder.getI64Type()),
                               start));
  Value inside =
      create<CompareOp>(builder, mask, ComparePredicate::le, term, limit);
  RankedTensorType type = getTensorType(mask);
  return inside.getType() == type
             ? inside
             : create<BroadcastOp>(builder, mask, type, inside);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {

/// Where the elements of a tensor in zig-zag order come from.
class Permutation {
public:
  Permutation(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims, int64_t ranks)
      : shape(shape), dims(dims), ranks(ranks) {}

  int64_t getSource(int64_t index) const {
    int64_t source = 0, stride = 1;
    for (size_t dim = shape.size(); dim-- > 0;) {
      int64_t at = index % shape[dim];
      index /= shape[dim];
      bool isOrdered = llvm::is_contained(dims, static_cast<int64_t>(dim));
      source +=
          stride * getZigzagPosition(at, shape[dim], isOrdered ? ranks : 1);
      stride *= shape[dim];
    }
    return source;
  }

private:
  ArrayRef<int64_t> shape, dims;
  int64_t ranks;
};

} // namespace

Value SourceBuilder::buildConstant(OpBuilder &builder, ConstantOp constant,
                                   ArrayRef<int64_t> dims) {
  if (constant.getValue().isSplat())
    return constant;
  RankedTensorType type = getTensorType(constant);
  auto elements = cast<DenseElementsAttr>(constant.getValue());
  Permutation permutation(type.getShape(), dims, ranks);
  int64_t count = type.getNumElements();
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> from(elements.getValues<bool>()), bits(count);
    for (auto [index, bit] : llvm::enumerate(bits))
      bit = from[permutation.getSource(static_cast<int64_t>(index))];
    return create<ConstantOp>(
        builder, constant, DenseElementsAttr::get(type, ArrayRef<bool>(bits)));
  }
  ArrayRef<char> from = elements.getRawData();
  size_t bytes = from.size() / static_cast<size_t>(count);
  SmallVector<char> made(from.size());
  for (int64_t index = 0; index < count; ++index)
    llvm::copy(from.slice(bytes * permutation.getSource(index), bytes),
               made.begin() + bytes * static_cast<size_t>(index));
  return create<ConstantOp>(builder, constant,
                            DenseElementsAttr::getFromRawBuffer(type, made));
}

} // namespace parplan::order
