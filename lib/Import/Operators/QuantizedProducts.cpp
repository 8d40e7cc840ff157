//===- QuantizedProducts.cpp - Products of eight-bit numbers ---*- C++ -*-===//
//
// Part of parplan. They are products of floats in which the sums are exact.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"
#include "lib/Import/Operators/Quantization.h"
#include "lib/Import/Operators/Windows.h"

namespace parplan::importer {

/// A type in which sums of `terms` products of two bytes are exact.
static ElementType getExactType(int64_t terms) {
  return terms <= (int64_t(1) << 24) / (255 * 255) ? ElementType::f32
                                                   : ElementType::f64;
}

/// Operand number `operand` less its zero point, in `type`.
static ValueId subtractZeroPoint(NodeContext &node, size_t operand,
                                 ValueId zeroPoint, ElementType type) {
  GraphBuilder &builder = node.builder;
  ValueId value = node.getInput(operand);
  ElementType from = builder.getType(value);
  if (from != ElementType::i8 && from != ElementType::u8)
    failNode(codes::badNode, "operand of type ", printElementType(from));
  value = builder.cast(value, type);
  return zeroPoint == noValue ? value
                              : builder.binary(OpKind::sub, value,
                                               builder.cast(zeroPoint, type));
}

/// One number for all, or one per element of dimension `dim` of `rank`.
static ValueId spreadAlong(NodeContext &node, size_t operand, int64_t dim,
                           int64_t rank) {
  if (!node.hasInput(operand))
    return noValue;
  GraphBuilder &builder = node.builder;
  ValueId value = node.getInput(operand);
  int64_t count = countElements(builder.getShape(value));
  if (count == 1)
    return builder.reshape(value, {});
  if (builder.getRank(value) != 1)
    return value;
  Shape column(rank, 1);
  column[dim] = count;
  return builder.reshape(value, column);
}

/// The convolution of the operands numbered, less their zero points.
static ValueId convolve(NodeContext &node, size_t input, size_t weight,
                        size_t inputZero, size_t weightZero) {
  GraphBuilder &builder = node.builder;
  ShapeRef from = builder.getShape(node.getInput(input)),
           kernel = builder.getShape(node.getInput(weight));
  checkKernel(node, from, kernel);
  ElementType type = getExactType(countElements(kernel.drop_front()));
  ValueId exactInput =
      subtractZeroPoint(node, input, node.getOptionalInput(inputZero), type);
  ValueId exactWeight = subtractZeroPoint(
      node, weight, spreadAlong(node, weightZero, 0, kernel.size()), type);
  return builder.conv(exactInput, exactWeight, /*bias=*/noValue,
                      readWindow(node, from, kernel.drop_front(2)),
                      node.getInteger("group", 1));
}

/// The product of the operands numbered, less their zero points: one per row of
/// the left operand, one per column of the right one.
static ValueId multiply(NodeContext &node, size_t left, size_t right,
                        size_t leftZero, size_t rightZero) {
  GraphBuilder &builder = node.builder;
  ShapeRef from = builder.getShape(node.getInput(left));
  if (from.empty())
    failNode(codes::badNode, "an operand is a scalar");
  ElementType type = getExactType(from.back());
  ValueId exactLeft =
      subtractZeroPoint(node, left, spreadAlong(node, leftZero, 0, 2), type);
  ValueId exactRight =
      subtractZeroPoint(node, right, spreadAlong(node, rightZero, 1, 2), type);
  return builder.matmul(exactLeft, exactRight);
}

static void importConvInteger(NodeContext &node) {
  node.setOutput(
      0, node.builder.cast(convolve(node, 0, 1, 2, 3), ElementType::i32));
}

static void importMatMulInteger(NodeContext &node) {
  node.setOutput(
      0, node.builder.cast(multiply(node, 0, 1, 2, 3), ElementType::i32));
}

/// A product with the scales of its operands, as numbers of the result's scale
/// (operand 6) and zero point (operand 7).
static void setRequantized(NodeContext &node, ValueId product, ValueId left,
                           ValueId right) {
  GraphBuilder &builder = node.builder;
  ElementType type = builder.getType(product);
  auto read = [&](ValueId scale) {
    if (!isFloat(builder.getType(scale)))
      failNode(codes::badNode, "scales of type ",
               printElementType(builder.getType(scale)));
    return builder.cast(scale, type);
  };
  ValueId scale = builder.binary(
      OpKind::div, builder.binary(OpKind::mul, read(left), read(right)),
      read(spreadAlong(node, 6, 0, 2)));
  ValueId zero = spreadAlong(node, 7, 0, 2);
  node.setOutput(0,
                 saturate(builder, builder.binary(OpKind::mul, product, scale),
                          zero, builder.getType(zero)));
}

/// x, its scale and zero point; w, its scale and zero point; scale and zero
/// point of the result; bias.
static void importQLinearConv(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  for (size_t operand = 0; operand < 8; ++operand)
    node.getInput(operand);
  ValueId product = convolve(node, 0, 3, 2, 5);
  int64_t rank = builder.getRank(product);
  if (node.hasInput(8))
    product = builder.binary(
        OpKind::add, product,
        builder.cast(spreadAlong(node, 8, 1, rank), builder.getType(product)));
  setRequantized(node, product, spreadAlong(node, 1, 1, rank),
                 spreadAlong(node, 4, 1, rank));
}

static void importQLinearMatMul(NodeContext &node) {
  for (size_t operand = 0; operand < 8; ++operand)
    node.getInput(operand);
  setRequantized(node, multiply(node, 0, 3, 2, 5), spreadAlong(node, 1, 0, 2),
                 spreadAlong(node, 4, 1, 2));
}

llvm::ArrayRef<OperatorEntry> getQuantizedProductOperators() {
  constexpr Support lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"ConvInteger", {10}, lowered, importConvInteger, "conv of floats"},
      {"MatMulInteger", {10}, lowered, importMatMulInteger, "matmul of floats"},
      {"QLinearConv",
       {10},
       lowered,
       importQLinearConv,
       "conv of floats and arithmetic"},
      {"QLinearMatMul",
       {10, 21},
       lowered,
       importQLinearMatMul,
       "matmul of floats and arithmetic"},
  };
  return entries;
}

} // namespace parplan::importer
