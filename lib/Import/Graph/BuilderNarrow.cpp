//===- BuilderNarrow.cpp - Types narrower than the dialect's ---*- C++ -*-===//
//
// Part of parplan. Floats of eight bits and integers below eight bits are held
// in a wider type (getCarrier). What makes one rounds it to the numbers that
// the type has; the bytes of large weights stay as they are in the file, and
// are decoded where they are used.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/GraphBuilder.h"
#include "lib/Import/Graph/NarrowFloat.h"

#include <cmath>

namespace parplan::importer {

/// Floats in which the exponent is found by its bits.
struct RoundingType {
  ElementType real, integer;
  int64_t exponentMask;
};

static RoundingType getRoundingType(ElementType from) {
  bool isLong =
      from == ElementType::f64 || (!isFloat(from) && getElementBytes(from) > 2);
  return isLong ? RoundingType{ElementType::f64, ElementType::i64,
                               0x7ff0000000000000}
                : RoundingType{ElementType::f32, ElementType::i32, 0x7f800000};
}

/// 2^e for numbers in [2^e, 2^(e+1)), but no less than `least`; infinity for
/// what is not finite.
static ValueId getPower(GraphBuilder &builder, ValueId value,
                        const RoundingType &type, double least) {
  ValueId bits = builder.bitcast(value, type.integer);
  Cell mask{.integer = type.exponentMask};
  ValueId exponent = builder.binary(OpKind::logicalAnd, bits,
                                    builder.makeSplat(type.integer, {}, mask));
  return builder.binary(OpKind::max, builder.bitcast(exponent, type.real),
                        builder.makeNumber(type.real, least));
}

static ValueId clamp(GraphBuilder &builder, ValueId value, double low,
                     double high) {
  ElementType type = builder.getType(value);
  value = builder.binary(OpKind::max, value, builder.makeNumber(type, low));
  return builder.binary(OpKind::min, value, builder.makeNumber(type, high));
}

/// The nearest number of a format, halves to even.
static ValueId roundToFormat(GraphBuilder &builder, ValueId value,
                             const RoundingType &type,
                             const NarrowFormat &format, bool saturates) {
  auto number = [&](double of) { return builder.makeNumber(type.real, of); };
  value = builder.cast(value, type.real);
  // Twice the greatest is too large for any format, and still a number.
  bool mayOverflow = !saturates && format.hasNaN;
  double limit = mayOverflow ? 2 * format.greatest : format.greatest;
  value = clamp(builder, value, -limit, limit);
  ValueId power = getPower(builder, value, type,
                           std::ldexp(1.0, format.getLeastExponent()));
  ValueId unit = builder.binary(OpKind::mul, power,
                                number(std::ldexp(1.0, -format.mantissaBits)));
  ValueId units = builder.binary(OpKind::div, value, unit);
  ValueId rounded =
      builder.binary(OpKind::mul, builder.unary(OpKind::round, units), unit);
  if (mayOverflow) {
    ValueId isTooLarge =
        builder.compare(Predicate::gt, builder.unary(OpKind::abs, rounded),
                        number(format.greatest));
    ValueId top =
        format.top == NarrowFormat::Top::infinity
            ? builder.select(builder.compare(Predicate::gt, rounded, number(0)),
                             number(INFINITY), number(-INFINITY))
            : number(NAN);
    rounded = builder.select(isTooLarge, top, rounded);
  }
  if (!format.hasNaN)
    rounded = builder.select(builder.unary(OpKind::isNaN, rounded), number(0),
                             rounded);
  if (!format.hasNegativeZero)
    rounded = builder.select(builder.compare(Predicate::eq, rounded, number(0)),
                             number(0), rounded);
  return rounded;
}

/// The power of two that is a number, or next to it. In double, which has all
/// of them as normal numbers.
static ValueId roundToPower(GraphBuilder &builder, ValueId value,
                            const NarrowRounding &rounding) {
  RoundingType type = getRoundingType(ElementType::f64);
  auto number = [&](double of) { return builder.makeNumber(type.real, of); };
  const double least = std::ldexp(1.0, -127), greatest = std::ldexp(1.0, 127);
  value = builder.cast(value, type.real);
  // Infinity is double the greatest.
  ValueId bounded = clamp(builder, value, least, 2 * greatest);
  ValueId power = getPower(builder, bounded, type, least);
  if (rounding.mode != NarrowRounding::Mode::down) {
    bool isUp = rounding.mode == NarrowRounding::Mode::up;
    ValueId threshold =
        isUp ? power : builder.binary(OpKind::mul, power, number(1.5));
    power =
        builder.select(builder.compare(isUp ? Predicate::gt : Predicate::ge,
                                       bounded, threshold),
                       builder.binary(OpKind::mul, power, number(2)), power);
  }
  ValueId isNumber =
      rounding.saturates
          ? builder.compare(Predicate::eq, value, value)
          : builder.binary(
                OpKind::logicalAnd,
                builder.compare(Predicate::ge, value, number(least)),
                builder.compare(Predicate::le, power, number(greatest)));
  power = builder.binary(OpKind::min, power, number(greatest));
  return builder.select(isNumber, power, number(NAN));
}

/// The lowest bits of an integer.
static ValueId takeLowBits(GraphBuilder &builder, ValueId value,
                           ElementType type) {
  ElementType carrier = getCarrier(type);
  auto number = [&](int64_t of) {
    return builder.makeNumber(builder.getType(value), double(of));
  };
  int64_t codes = int64_t(1) << getElementBits(type);
  value = builder.binary(OpKind::logicalAnd, value, number(codes - 1));
  if (isUnsigned(type))
    return builder.cast(value, carrier);
  // The upper half of the codes are the negative numbers.
  value = builder.cast(value, carrier);
  value = builder.binary(OpKind::logicalXor, value, number(codes / 2));
  return builder.binary(OpKind::sub, value, number(codes / 2));
}

ValueId GraphBuilder::retype(ValueId input, ElementType type) {
  if (ValueId folded = foldElementwise(OpKind::cast, Predicate::eq, {input},
                                       type, getShape(input));
      folded != noValue)
    return folded;
  return append(OpKind::cast, {input}, type, getShape(input));
}

ValueId GraphBuilder::castToNarrow(ValueId input, ElementType type,
                                   const NarrowRounding &rounding) {
  ValueId result;
  if (type == ElementType::f8e8m0)
    result = roundToPower(*this, input, rounding);
  else if (isFloat(type))
    result = roundToFormat(*this, input, getRoundingType(getType(input)),
                           getNarrowFormat(type), rounding.saturates);
  else
    result = takeLowBits(*this, cast(input, ElementType::i32), type);
  return retype(cast(result, getCarrier(type)), type);
}

ValueId GraphBuilder::decode(ValueId bytes, ElementType type, ShapeRef shape) {
  int64_t bits = getElementBits(type), parts = 8 / bits;
  if (parts > 1) {
    Shape one = getShape(bytes);
    one.push_back(1);
    llvm::SmallVector<ValueId, 4> codes;
    for (int64_t part = 0; part < parts; ++part) {
      ValueId shifted = binary(
          OpKind::div, bytes,
          makeNumber(ElementType::u8, double(int64_t(1) << (part * bits))));
      ValueId code =
          binary(OpKind::logicalAnd, shifted,
                 makeNumber(ElementType::u8, double((1 << bits) - 1)));
      codes.push_back(reshape(code, one));
    }
    bytes = concat(codes, int64_t(one.size()) - 1);
    // What fills the last byte is left out.
    int64_t held = countElements(getShape(bytes)), count = countElements(shape);
    if (held != count)
      bytes = slice(reshape(bytes, {held}), SliceRange{0, 0, count});
  }
  bytes = reshape(bytes, shape);
  if (!isFloat(type))
    return retype(takeLowBits(*this, bytes, type), type);
  std::vector<Cell> numbers(size_t(1) << bits);
  for (size_t code = 0; code < numbers.size(); ++code)
    numbers[code].real = decodeNarrowFloat(code, type);
  Shape codes = {int64_t(numbers.size())};
  ValueId table = makeDense(getCarrier(type), codes, std::move(numbers));
  return retype(gather(table, cast(bytes, ElementType::i64), 0), type);
}

} // namespace parplan::importer
