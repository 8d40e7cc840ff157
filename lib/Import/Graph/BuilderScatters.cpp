//===- BuilderScatters.cpp - Additions at indices --------------*- C++ -*-===//
//
// Part of parplan. The adjoints of gathers, as ops of a forward pass.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/GraphBuilder.h"

namespace parplan::importer {

static void requireSums(const GraphBuilder &builder, ValueId updates,
                        ValueId indices) {
  ElementType type = builder.getType(indices);
  if (type != ElementType::i64 && type != ElementType::i32)
    failNode(codes::badNode, "indices of type ", printElementType(type));
  if (!isFloat(builder.getType(updates)))
    failNode(codes::unsupportedForm, "sums at indices of type ",
             printElementType(builder.getType(updates)));
}

ValueId GraphBuilder::scatterElements(ValueId updates, ValueId indices,
                                      ShapeRef shape, int64_t dim) {
  requireSums(*this, updates, indices);
  ShapeRef from = getShape(indices);
  bool fits =
      from.size() == shape.size() && ShapeRef(getShape(updates)) == from;
  for (size_t i = 0; fits && i < from.size(); ++i)
    fits = int64_t(i) == dim || from[i] <= shape[i];
  if (!fits)
    failNode(codes::badNode, "indices of shape ", printShape(from),
             " and updates of shape ", printShape(getShape(updates)),
             " for data of shape ", printShape(shape));
  return append(OpKind::scatterElements, {updates, indices}, getType(updates),
                shape, {dim});
}

ValueId GraphBuilder::scatterND(ValueId updates, ValueId indices,
                                ShapeRef shape) {
  requireSums(*this, updates, indices);
  ShapeRef from = getShape(indices);
  Shape expected;
  if (!from.empty() && from.back() >= 1 &&
      from.back() <= int64_t(shape.size())) {
    expected.append(from.begin(), from.end() - 1);
    expected.append(shape.begin() + from.back(), shape.end());
  }
  if (from.empty() || getShape(updates) != expected)
    failNode(codes::badNode, "indices of shape ", printShape(from),
             " and updates of shape ", printShape(getShape(updates)),
             " for data of shape ", printShape(shape));
  return append(OpKind::scatterND, {updates, indices}, getType(updates), shape,
                {/*batchDims=*/0});
}

} // namespace parplan::importer
