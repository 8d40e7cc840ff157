//===- Elementwise.cpp - Arithmetic, comparison, choice, casts -*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include "parplan/Support/Text.h"

#include "onnx/onnx_pb.h"

namespace parplan::importer {

/// And, Or, Xor, Not: of bools only; with `Bitwise` in front, of integers only.
static void requireBits(NodeContext &node, bool areBools) {
  for (size_t operand = 0; operand < node.getInputCount(); ++operand) {
    ElementType type = node.builder.getType(node.getInput(operand));
    if (areBools ? !isBool(type) : !isInteger(type))
      failNode(codes::badNode, "operand of type ", printElementType(type));
  }
}

template <OpKind kind, bool areBools>
static void importBits(NodeContext &node) {
  requireBits(node, areBools);
  if constexpr (kind == OpKind::logicalNot)
    node.setOutput(0, node.builder.unary(kind, node.getInput(0)));
  else
    node.setOutput(
        0, node.builder.binary(kind, node.getInput(0), node.getInput(1)));
}

/// Shifts by the powers of two, of which that past the last bit is zero.
static void importBitShift(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId bits = node.getInput(0), amount = node.getInput(1);
  ElementType type = builder.getType(bits);
  std::string direction = node.getText("direction", "");
  if (!isUnsigned(type) || builder.getType(amount) != type ||
      (direction != "LEFT" && direction != "RIGHT"))
    failNode(codes::badNode, "operands of types ", printElementType(type),
             " and ", printElementType(builder.getType(amount)), ", direction ",
             quoteName(direction));
  int64_t width = 8 * getElementBytes(type);
  std::vector<Cell> cells(width + 1);
  for (int64_t i = 0; i < width; ++i)
    cells[i].integer = int64_t(uint64_t(1) << i);
  cells[width].integer = 0;
  Shape shape = {width + 1};
  ValueId powers = builder.makeDense(type, shape, std::move(cells));
  ValueId last = builder.makeNumber(type, double(width));
  ValueId limited = builder.binary(OpKind::min, amount, last);
  ValueId power =
      builder.gather(powers, builder.cast(limited, ElementType::i64), 0);
  if (direction == "LEFT") {
    node.setOutput(0, builder.binary(OpKind::mul, bits, power));
    return;
  }
  ValueId isWithin = builder.compare(Predicate::lt, amount, last);
  ValueId divisor =
      builder.select(isWithin, power, builder.makeNumber(type, 1));
  node.setOutput(0, builder.select(isWithin,
                                   builder.binary(OpKind::div, bits, divisor),
                                   builder.makeNumber(type, 0)));
}

static void importBitCast(NodeContext &node) {
  node.getRequiredInteger("to");
  ElementType type = node.getElementType("to", ElementType::f32);
  node.setOutput(0, node.builder.bitcast(node.getInput(0), type));
}

template <OpKind kind> static void importBinary(NodeContext &node) {
  node.setOutput(0,
                 node.builder.binary(kind, node.getInput(0), node.getInput(1)));
}

template <Predicate predicate> static void importCompare(NodeContext &node) {
  node.setOutput(
      0, node.builder.compare(predicate, node.getInput(0), node.getInput(1)));
}

static ValueId addAll(NodeContext &node, OpKind kind) {
  llvm::SmallVector<ValueId, 4> inputs = node.getAllInputs();
  ValueId result = inputs[0];
  for (ValueId input : llvm::drop_begin(inputs))
    result = node.builder.binary(kind, result, input);
  return result;
}

template <OpKind kind> static void importVariadic(NodeContext &node) {
  node.setOutput(0, addAll(node, kind));
}

static void importMean(NodeContext &node) {
  ValueId sum = addAll(node, OpKind::add);
  ElementType type = node.builder.getType(sum);
  node.setOutput(
      0, node.builder.binary(OpKind::mul, sum,
                             node.builder.makeNumber(
                                 type, 1.0 / double(node.getInputCount()))));
}

static void importPow(NodeContext &node) {
  // The exponent may have a type of its own.
  ValueId base = node.getInput(0);
  ValueId exponent =
      node.builder.cast(node.getInput(1), node.builder.getType(base));
  node.setOutput(0, node.builder.binary(OpKind::pow, base, exponent));
}

static void importMod(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId lhs = node.getInput(0), rhs = node.getInput(1);
  bool isReal = isFloat(builder.getType(lhs));
  if (isReal && node.getInteger("fmod", 0) == 0)
    failNode(codes::badNode, "fmod must be 1 for operands of type ",
             printElementType(builder.getType(lhs)));
  ValueId result = builder.binary(OpKind::mod, lhs, rhs);
  if (!isReal && node.getInteger("fmod", 0) != 0) {
    // C's remainder has the sign of the dividend: a - trunc(a / b) * b.
    ValueId quotient = builder.binary(OpKind::div, lhs, rhs);
    result = builder.binary(OpKind::sub, lhs,
                            builder.binary(OpKind::mul, quotient, rhs));
  }
  node.setOutput(0, result);
}

static void importIsInf(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  bool negative = node.getInteger("detect_negative", 1) != 0;
  bool positive = node.getInteger("detect_positive", 1) != 0;
  ValueId result = builder.unary(OpKind::isInf, input);
  if (!negative && !positive)
    result = builder.makeNumber(ElementType::i1, 0, builder.getShape(input));
  else if (negative != positive)
    result = builder.binary(
        OpKind::logicalAnd, result,
        builder.compare(positive ? Predicate::gt : Predicate::lt, input,
                        builder.makeNumber(builder.getType(input), 0)));
  node.setOutput(0, result);
}

static void importWhere(NodeContext &node) {
  node.setOutput(0, node.builder.select(node.getInput(0), node.getInput(1),
                                        node.getInput(2)));
}

static void importCastTo(NodeContext &node, ElementType type) {
  using Mode = NarrowRounding::Mode;
  std::string mode = node.getText("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest")
    failNode(codes::badNode, "round_mode is ", quoteName(mode));
  NarrowRounding rounding{node.getInteger("saturate", 1) != 0,
                          mode == "up"     ? Mode::up
                          : mode == "down" ? Mode::down
                                           : Mode::nearest};
  node.setOutput(0, node.builder.cast(node.getInput(0), type, rounding));
}

static void importCast(NodeContext &node) {
  node.getRequiredInteger("to");
  importCastTo(node, node.getElementType("to", ElementType::f32));
}

static void importCastLike(NodeContext &node) {
  importCastTo(node, node.builder.getType(node.getInput(1)));
}

static void importClip(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId result = node.getInput(0);
  ElementType type = builder.getType(result);
  ValueId low = noValue, high = noValue;
  if (node.version < 11) {
    if (node.hasAttribute("min"))
      low = builder.makeNumber(type, node.getReal("min", 0));
    if (node.hasAttribute("max"))
      high = builder.makeNumber(type, node.getReal("max", 0));
  } else {
    low = node.getOptionalInput(1);
    high = node.getOptionalInput(2);
  }
  if (low != noValue)
    result = builder.binary(OpKind::max, result, low);
  if (high != noValue)
    result = builder.binary(OpKind::min, result, high);
  node.setOutput(0, result);
}

llvm::ArrayRef<OperatorEntry> getElementwiseOperators() {
  constexpr Support direct = Support::direct, lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"Abs", {6, 13}, direct, importUnary<OpKind::abs>},
      {"Neg", {6, 13}, direct, importUnary<OpKind::neg>},
      {"Sign", {9, 13}, direct, importUnary<OpKind::sign>},
      {"Exp", {6, 13}, direct, importUnary<OpKind::exp>},
      {"Log", {6, 13}, direct, importUnary<OpKind::log>},
      {"Sqrt", {6, 13}, direct, importUnary<OpKind::sqrt>},
      {"Reciprocal", {6, 13}, direct, importUnary<OpKind::reciprocal>},
      {"Sin", {7, 22}, direct, importUnary<OpKind::sin>},
      {"Cos", {7, 22}, direct, importUnary<OpKind::cos>},
      {"Tan", {7, 22}, direct, importUnary<OpKind::tan>},
      {"Asin", {7, 22}, direct, importUnary<OpKind::asin>},
      {"Acos", {7, 22}, direct, importUnary<OpKind::acos>},
      {"Atan", {7, 22}, direct, importUnary<OpKind::atan>},
      {"Sinh", {9, 22}, direct, importUnary<OpKind::sinh>},
      {"Cosh", {9, 22}, direct, importUnary<OpKind::cosh>},
      {"Asinh", {9, 22}, direct, importUnary<OpKind::asinh>},
      {"Acosh", {9, 22}, direct, importUnary<OpKind::acosh>},
      {"Atanh", {9, 22}, direct, importUnary<OpKind::atanh>},
      {"Erf", {9, 13}, direct, importUnary<OpKind::erf>},
      {"Floor", {6, 13}, direct, importUnary<OpKind::floor>},
      {"Ceil", {6, 13}, direct, importUnary<OpKind::ceil>},
      {"Round", {11, 22}, direct, importUnary<OpKind::round>},
      {"Not", {1}, direct, importBits<OpKind::logicalNot, true>},
      {"IsNaN", {9, 13, 20}, direct, importUnary<OpKind::isNaN>},
      {"IsInf", {10, 20}, direct, importIsInf},
      {"Add", {7, 13, 14}, direct, importBinary<OpKind::add>},
      {"Sub", {7, 13, 14}, direct, importBinary<OpKind::sub>},
      {"Mul", {7, 13, 14}, direct, importBinary<OpKind::mul>},
      {"Div", {7, 13, 14}, direct, importBinary<OpKind::div>},
      {"Pow", {7, 12, 13, 15}, direct, importPow},
      {"Mod", {10, 13}, direct, importMod},
      {"And", {7}, direct, importBits<OpKind::logicalAnd, true>},
      {"Or", {7}, direct, importBits<OpKind::logicalOr, true>},
      {"Xor", {7}, direct, importBits<OpKind::logicalXor, true>},
      {"BitwiseNot", {18}, direct, importBits<OpKind::logicalNot, false>},
      {"BitwiseAnd", {18}, direct, importBits<OpKind::logicalAnd, false>},
      {"BitwiseOr", {18}, direct, importBits<OpKind::logicalOr, false>},
      {"BitwiseXor", {18}, direct, importBits<OpKind::logicalXor, false>},
      {"BitShift",
       {11},
       lowered,
       importBitShift,
       "multiplication and division by powers of two"},
      {"BitCast", {26}, direct, importBitCast},
      {"Equal", {7, 11, 13, 19}, direct, importCompare<Predicate::eq>},
      {"Less", {7, 9, 13}, direct, importCompare<Predicate::lt>},
      {"LessOrEqual", {12, 16}, direct, importCompare<Predicate::le>},
      {"Greater", {7, 9, 13}, direct, importCompare<Predicate::gt>},
      {"GreaterOrEqual", {12, 16}, direct, importCompare<Predicate::ge>},
      {"Where", {9, 16}, direct, importWhere},
      {"Max", {6, 8, 12, 13}, direct, importVariadic<OpKind::max>},
      {"Min", {6, 8, 12, 13}, direct, importVariadic<OpKind::min>},
      {"Sum", {6, 8, 13}, direct, importVariadic<OpKind::add>},
      {"Mean", {6, 8, 13}, lowered, importMean, "sum and multiplication"},
      {"Clip", {6, 11, 12, 13}, lowered, importClip, "maximum and minimum"},
      {"Cast",
       {6, 9, 13, 19, 21, 23, 24, 25},
       direct,
       importCast,
       "several to what is narrower than the types of the dialect"},
      {"CastLike", {15, 19, 21, 23, 24, 25}, direct, importCastLike, "cast"},
  };
  return entries;
}

} // namespace parplan::importer
