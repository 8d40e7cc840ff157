//===- Quantization.cpp - To few bits and back -----------------*- C++ -*-===//
//
// Part of parplan. For inference: the arithmetic is written out in the types
// that ONNX says.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Quantization.h"

#include "lib/Import/Operators/OperatorTable.h"

namespace parplan::importer {

std::pair<double, double> getQuantizedRange(ElementType type) {
  switch (type) {
  case ElementType::i8:
    return {-128, 127};
  case ElementType::u8:
    return {0, 255};
  case ElementType::i16:
    return {-32768, 32767};
  case ElementType::u16:
    return {0, 65535};
  case ElementType::i4:
    return {-8, 7};
  case ElementType::u4:
    return {0, 15};
  case ElementType::i2:
    return {-2, 1};
  case ElementType::u2:
    return {0, 3};
  default:
    failNode(codes::unsupportedType, "numbers quantized to ",
             printElementType(type));
  }
}

/// A data type that an attribute names; 0 stands for `otherwise`.
static ElementType getTypeAttribute(NodeContext &node, std::string_view name,
                                    ElementType otherwise) {
  return node.getInteger(name, 0) == 0 ? otherwise
                                       : node.getElementType(name, otherwise);
}

/// A scale or a zero point as it broadcasts to `shape`: a scalar, one number
/// per index of the axis, or one per block of it.
static ValueId spread(NodeContext &node, ValueId value, ShapeRef shape) {
  GraphBuilder &builder = node.builder;
  Shape from = builder.getShape(value);
  if (countElements(from) == 1)
    return builder.reshape(value, {});
  int64_t axis = builder.normalizeDim(node.getInteger("axis", 1), shape.size());
  int64_t block = node.getInteger("block_size", 0);
  auto fail = [&] {
    failNode(codes::badNode, "scales of shape ", printShape(from),
             " for numbers of shape ", printShape(shape));
  };
  if (block == 0) {
    if (from.size() != 1 || from[0] != shape[axis])
      fail();
    Shape along(shape.size(), 1);
    along[axis] = shape[axis];
    return builder.reshape(value, along);
  }
  Shape expected(shape.begin(), shape.end());
  if (block < 1 || block > shape[axis])
    fail();
  expected[axis] = (shape[axis] + block - 1) / block;
  if (from != expected)
    fail();
  // Every number `block` times, and no more than there are.
  Shape repeated = expected;
  repeated.insert(repeated.begin() + axis + 1, block);
  Shape joined = expected;
  joined[axis] *= block;
  value = builder.broadcast(builder.insertDims(value, {axis + 1}), repeated);
  return builder.slice(builder.reshape(value, joined),
                       SliceRange{axis, 0, shape[axis]});
}

ValueId saturate(GraphBuilder &builder, ValueId value, ValueId zero,
                 ElementType type) {
  // Half floats are too short for the numbers of 16 bits.
  if (builder.getType(value) != ElementType::f64)
    value = builder.cast(value, ElementType::f32);
  ElementType real = builder.getType(value);
  value = builder.unary(OpKind::round, value);
  if (zero != noValue)
    value = builder.binary(OpKind::add, value, builder.cast(zero, real));
  auto [low, high] = getQuantizedRange(type);
  value = builder.binary(OpKind::max, value, builder.makeNumber(real, low));
  value = builder.binary(OpKind::min, value, builder.makeNumber(real, high));
  return builder.cast(value, type);
}

static void importQuantizeLinear(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  ShapeRef shape = builder.getShape(input);
  ValueId scale = spread(node, node.getInput(1), shape), zero = noValue;
  if (!isFloat(builder.getType(scale)))
    failNode(codes::badNode, "scales of type ",
             printElementType(builder.getType(scale)));
  ElementType type = getTypeAttribute(node, "output_dtype", ElementType::u8);
  if (node.hasInput(2)) {
    type = builder.getType(node.getInput(2));
    zero = spread(node, node.getInput(2), shape);
  }
  bool toFloat = isNarrow(type) && isFloat(type);
  if (!toFloat)
    getQuantizedRange(type);
  ElementType precision =
      getTypeAttribute(node, "precision", builder.getType(scale));
  if (!isFloat(precision))
    failNode(codes::badNode, "precision is ", printElementType(precision));
  precision = getCarrier(precision);
  ValueId quotient = builder.binary(OpKind::div, builder.cast(input, precision),
                                    builder.cast(scale, precision));
  if (!toFloat) {
    node.setOutput(0, saturate(builder, quotient, zero, type));
    return;
  }
  // Rounded by the cast alone.
  if (zero != noValue)
    quotient = builder.binary(OpKind::add, quotient,
                              builder.cast(zero, builder.getType(quotient)));
  NarrowRounding rounding{.saturates = node.getInteger("saturate", 1) != 0};
  node.setOutput(0, builder.cast(quotient, type, rounding));
}

/// (value - zero) as int32, or as floats if the numbers are; zero may be
/// missing.
static ValueId subtractZero(GraphBuilder &builder, ValueId value,
                            ValueId zero) {
  ElementType type = builder.getType(value);
  if (!isInteger(type) && !isNarrow(type))
    failNode(codes::badNode, "quantized numbers of type ",
             printElementType(type));
  ElementType wide = isFloat(type) ? getCarrier(type) : ElementType::i32;
  value = builder.cast(value, wide);
  if (zero == noValue)
    return value;
  return builder.binary(OpKind::sub, value, builder.cast(zero, wide));
}

static void importDequantizeLinear(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  ShapeRef shape = builder.getShape(input);
  ValueId scale = spread(node, node.getInput(1), shape), zero = noValue;
  if (node.hasInput(2))
    zero = spread(node, node.getInput(2), shape);
  ElementType type = builder.getType(scale);
  if (!isFloat(type))
    failNode(codes::badNode, "scales of type ", printElementType(type));
  ElementType wide = getCarrier(type);
  ValueId difference = builder.cast(subtractZero(builder, input, zero), wide);
  ValueId product =
      builder.binary(OpKind::mul, difference, builder.cast(scale, wide));
  node.setOutput(
      0, builder.cast(product, getTypeAttribute(node, "output_dtype", type)));
}

llvm::ArrayRef<OperatorEntry> getQuantizationOperators() {
  constexpr Support lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"QuantizeLinear",
       {10, 13, 19, 21, 23, 24, 25},
       lowered,
       importQuantizeLinear,
       "arithmetic"},
      {"DequantizeLinear",
       {10, 13, 19, 21, 23, 24, 25},
       lowered,
       importDequantizeLinear,
       "arithmetic"},
  };
  return entries;
}

} // namespace parplan::importer
