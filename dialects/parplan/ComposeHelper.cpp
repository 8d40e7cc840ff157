//===- ComposeHelper.cpp - Builds decompositions --------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ComposeHelper.h"

using namespace mlir;

namespace parplan {

Value ComposeHelper::scalar(Type element, double value) {
  auto type = RankedTensorType::get({}, element);
  Attribute attribute =
      isa<FloatType>(element)
          ? Attribute(builder.getFloatAttr(element, value))
          : builder.getIntegerAttr(element, static_cast<int64_t>(value));
  return create<ConstantOp>(
      cast<ElementsAttr>(DenseElementsAttr::get(type, attribute)));
}

Value ComposeHelper::reshape(Value value, ArrayRef<int64_t> shape) {
  return create<ReshapeOp>(
      RankedTensorType::get(shape, getTensorType(value).getElementType()),
      value);
}

Value ComposeHelper::reduce(ReduceKind kind, Value value,
                            ArrayRef<int64_t> dims) {
  return create<ReduceOp>(kind, value, dims, /*keep_dims=*/true);
}

Value ComposeHelper::mean(Value value, ArrayRef<int64_t> dims) {
  double count = 1;
  for (int64_t dim : dims)
    count *= static_cast<double>(getShape(value)[dim]);
  Value total = reduce(ReduceKind::sum, value, dims);
  return create<MulOp>(
      total, scalar(getTensorType(value).getElementType(), 1.0 / count));
}

Value ComposeHelper::slice(Value value, int64_t dim, int64_t start,
                           int64_t limit, int64_t step) {
  return create<SliceOp>(value, ArrayRef<int64_t>{dim},
                         ArrayRef<int64_t>{start}, ArrayRef<int64_t>{limit},
                         ArrayRef<int64_t>{step});
}

Type ComposeHelper::widen(Type element) {
  return element.isF16() || element.isBF16() ? builder.getF32Type() : element;
}

Value ComposeHelper::castTo(Value value, Type element) {
  RankedTensorType type = getTensorType(value);
  if (type.getElementType() == element)
    return value;
  return create<CastOp>(type.clone(element), value);
}

} // namespace parplan
