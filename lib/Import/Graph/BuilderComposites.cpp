//===- BuilderComposites.cpp - Ops that stay whole -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/GraphBuilder.h"

#include <bit>

namespace parplan::importer {

static void requireFloat(const GraphBuilder &builder,
                         llvm::ArrayRef<ValueId> operands) {
  ElementType type = builder.getType(operands[0]);
  for (ValueId operand : operands)
    if (!isFloat(type) || builder.getType(operand) != type)
      failNode(codes::badNode, "operands of types ", printElementType(type),
               " and ", printElementType(builder.getType(operand)));
}

ValueId GraphBuilder::softmax(OpKind kind, ValueId input, int64_t dim) {
  requireFloat(*this, input);
  dim = normalizeDim(dim, getRank(input));
  return append(kind, {input}, getType(input), getShape(input), {dim});
}

/// Scale and bias take the shape of the normalised dimensions.
static ValueId fitScale(GraphBuilder &builder, ValueId scale, ValueId input,
                        int64_t dim) {
  ShapeRef normalized = ShapeRef(builder.getShape(input)).drop_front(dim);
  ShapeRef shape = builder.getShape(scale);
  if (shape.size() > normalized.size() &&
      countElements(shape.drop_back(normalized.size())) == 1)
    scale = builder.reshape(scale, shape.take_back(normalized.size()));
  return builder.broadcast(scale, normalized);
}

ValueId GraphBuilder::layerNorm(ValueId input, ValueId scale, ValueId bias,
                                int64_t dim, double epsilon) {
  dim = normalizeDim(dim, getRank(input));
  llvm::SmallVector<ValueId, 3> operands = {input};
  for (ValueId operand : {scale, bias})
    if (operand != noValue)
      operands.push_back(fitScale(*this, operand, input, dim));
  requireFloat(*this, operands);
  return append(OpKind::layerNorm, operands, getType(input), getShape(input),
                {dim, std::bit_cast<int64_t>(epsilon), scale != noValue,
                 bias != noValue});
}

ValueId GraphBuilder::rmsNorm(ValueId input, ValueId scale, int64_t dim,
                              double epsilon) {
  dim = normalizeDim(dim, getRank(input));
  llvm::SmallVector<ValueId, 2> operands = {input};
  if (scale != noValue)
    operands.push_back(fitScale(*this, scale, input, dim));
  requireFloat(*this, operands);
  return append(OpKind::rmsNorm, operands, getType(input), getShape(input),
                {dim, std::bit_cast<int64_t>(epsilon)});
}

ValueId GraphBuilder::batchNorm(llvm::ArrayRef<ValueId> operands,
                                double epsilon) {
  ValueId input = operands[0];
  requireFloat(*this, operands);
  if (getRank(input) < 2)
    failNode(codes::badNode, "input of shape ", printShape(getShape(input)));
  for (ValueId operand : operands.drop_front())
    if (ShapeRef(getShape(operand)) != ShapeRef(getShape(input)).slice(1, 1))
      failNode(codes::badNode, "input of shape ", printShape(getShape(input)),
               " and statistics of shape ", printShape(getShape(operand)));
  return append(OpKind::batchNorm, operands, getType(input), getShape(input),
                {std::bit_cast<int64_t>(epsilon)});
}

ValueId GraphBuilder::rope(ValueId input, ValueId cos, ValueId sin,
                           bool interleaved) {
  requireFloat(*this, {input, cos, sin});
  Shape half = getShape(input);
  if (half.empty() || half.back() % 2 != 0)
    failNode(codes::badNode, "input of shape ", printShape(half));
  half.back() /= 2;
  for (ValueId table : {cos, sin})
    if (ShapeRef(broadcastShapes({half, getShape(table)})) != ShapeRef(half) ||
        getRank(table) == 0 || getShape(table).back() != half.back())
      failNode(codes::badNode, "tables of shape ", printShape(getShape(table)),
               " for an input of shape ", printShape(getShape(input)));
  return append(OpKind::rope, {input, cos, sin}, getType(input),
                getShape(input), {interleaved});
}

ValueId GraphBuilder::attention(ValueId query, ValueId key, ValueId value,
                                ValueId mask, ValueId queryOffset, double scale,
                                bool causal) {
  requireFloat(*this, {query, key, value});
  ShapeRef q = getShape(query), k = getShape(key), v = getShape(value);
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || q[0] != k[0] ||
      q[0] != v[0] || k[1] != v[1] || k[2] != v[2] || q[3] != k[3] ||
      k[2] < 1 || q[2] % k[2] != 0)
    failNode(codes::badNode, "query, key and value of shapes ", printShape(q),
             ", ", printShape(k), " and ", printShape(v));
  llvm::SmallVector<ValueId, 5> operands = {query, key, value};
  if (mask != noValue) {
    Shape scores = {q[0], q[2], q[1], k[1]};
    if (!isBool(getType(mask)) && getType(mask) != getType(query))
      failNode(codes::badNode, "a mask of type ",
               printElementType(getType(mask)));
    if (ShapeRef(broadcastShapes({scores, getShape(mask)})) != ShapeRef(scores))
      failNode(codes::badNode, "a mask of shape ", printShape(getShape(mask)),
               " for scores of shape ", printShape(scores));
    // Repetition of a mask is the op's business.
    while (const Op *source = graph.getDefinition(mask, OpKind::broadcast))
      mask = source->operands[0];
    operands.push_back(mask);
  }
  if (queryOffset != noValue)
    operands.push_back(queryOffset);
  return append(OpKind::attention, operands, getType(query),
                {q[0], q[1], q[2], v[3]},
                {std::bit_cast<int64_t>(scale), causal, mask != noValue,
                 queryOffset != noValue});
}

} // namespace parplan::importer
