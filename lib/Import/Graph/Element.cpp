//===- Element.cpp - Element types of the imported graph -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/Element.h"

#include "parplan/Support/CheckedMath.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace parplan::importer {

std::optional<ElementType> fromOnnxType(int32_t onnxType) {
  switch (onnxType) {
  case 1:
    return ElementType::f32;
  case 2:
    return ElementType::u8;
  case 3:
    return ElementType::i8;
  case 4:
    return ElementType::u16;
  case 5:
    return ElementType::i16;
  case 6:
    return ElementType::i32;
  case 7:
    return ElementType::i64;
  case 9:
    return ElementType::i1;
  case 10:
    return ElementType::f16;
  case 11:
    return ElementType::f64;
  case 12:
    return ElementType::u32;
  case 13:
    return ElementType::u64;
  case 16:
    return ElementType::bf16;
  default:
    return std::nullopt;
  }
}

int32_t toOnnxType(ElementType type) {
  static const int32_t numbers[] = {11, 1, 10, 16, 7, 6, 5, 3, 13, 12, 4, 2, 9};
  return numbers[static_cast<int>(type)];
}

std::string printOnnxType(int32_t onnxType) {
  static const char *const names[] = {
      "undefined",      "float",      "uint8",
      "int8",           "uint16",     "int16",
      "int32",          "int64",      "string",
      "bool",           "float16",    "double",
      "uint32",         "uint64",     "complex64",
      "complex128",     "bfloat16",   "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
      "uint4",          "int4",       "float4e2m1",
      "float8e8m0",     "uint2",      "int2"};
  if (onnxType >= 0 && onnxType < int32_t(std::size(names)))
    return names[onnxType];
  return "type " + std::to_string(onnxType);
}

const char *printElementType(ElementType type) {
  static const char *const names[] = {
      "double", "float",  "float16", "bfloat16", "int64", "int32", "int16",
      "int8",   "uint64", "uint32",  "uint16",   "uint8", "bool"};
  return names[static_cast<int>(type)];
}

bool isFloat(ElementType type) { return type <= ElementType::bf16; }

int64_t getElementBytes(ElementType type) {
  static const int64_t bytes[] = {8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1};
  return bytes[static_cast<int>(type)];
}

int64_t countElements(ShapeRef shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

bool isWithinLimits(ShapeRef shape) {
  int64_t product = 1;
  for (int64_t size : shape) {
    std::optional<int64_t> next =
        size < 0 ? std::nullopt
                 : checkedMultiply(product, std::max<int64_t>(size, 1));
    if (!next || *next > (int64_t(1) << 48))
      return false;
    product = *next;
  }
  return true;
}

std::string printShape(ShapeRef shape) {
  std::string text = "[";
  for (int64_t size : shape) {
    if (text.size() > 1)
      text += ", ";
    if (text.size() > 200)
      return text + "..]";
    text += std::to_string(size);
  }
  return text + "]";
}

/// Bits of the nearest float with `exponentBits` and `mantissaBits`, halves to
/// even; used for float16 (5, 10).
static uint16_t toHalfBits(double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint16_t sign = uint16_t((bits >> 48) & 0x8000);
  if (std::isnan(value))
    return sign | 0x7e00;
  double magnitude = std::fabs(value);
  if (magnitude >= 65520.0)
    return sign | 0x7c00;
  if (magnitude < std::ldexp(1.0, -14)) // Subnormal: multiples of 2^-24.
    return sign | uint16_t(std::nearbyint(std::ldexp(magnitude, 24)));
  int exponent;
  double fraction = std::frexp(magnitude, &exponent); // In [0.5, 1).
  auto mantissa = uint32_t(std::nearbyint(std::ldexp(fraction, 11)));
  // A carry out of the mantissa goes into the exponent by itself.
  return sign | uint16_t((uint32_t(exponent + 13) << 10) + mantissa);
}

static double fromHalfBits(uint16_t bits) {
  int exponent = (bits >> 10) & 0x1f;
  int mantissa = bits & 0x3ff;
  double value;
  if (exponent == 31)
    value = mantissa ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(double(mantissa), -24);
  else
    value = std::ldexp(double(mantissa + 1024), exponent - 25);
  return bits & 0x8000 ? -value : value;
}

static uint16_t toBrainBits(double value) {
  // Rounding twice is safe: a float has more than twice the mantissa bits.
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isnan(value))
    return uint16_t(bits >> 16) | 0x40;
  bits += 0x7fff + ((bits >> 16) & 1);
  return uint16_t(bits >> 16);
}

static double fromBrainBits(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

double roundToType(double value, ElementType type) {
  switch (type) {
  case ElementType::f32:
    return static_cast<float>(value);
  case ElementType::f16:
    return fromHalfBits(toHalfBits(value));
  case ElementType::bf16:
    return fromBrainBits(toBrainBits(value));
  default:
    return value;
  }
}

int64_t wrapToType(int64_t value, ElementType type) {
  switch (type) {
  case ElementType::i32:
    return static_cast<int32_t>(value);
  case ElementType::i16:
    return static_cast<int16_t>(value);
  case ElementType::i8:
    return static_cast<int8_t>(value);
  case ElementType::u32:
    return static_cast<uint32_t>(value);
  case ElementType::u16:
    return static_cast<uint16_t>(value);
  case ElementType::u8:
    return static_cast<uint8_t>(value);
  case ElementType::i1:
    return value != 0;
  default:
    return value;
  }
}

static int64_t truncateToInteger(double value, ElementType type) {
  if (std::isnan(value))
    return 0;
  int64_t low, high;
  switch (type) {
  case ElementType::i32:
    low = INT32_MIN, high = INT32_MAX;
    break;
  case ElementType::i16:
    low = INT16_MIN, high = INT16_MAX;
    break;
  case ElementType::i8:
    low = INT8_MIN, high = INT8_MAX;
    break;
  case ElementType::u64:
    if (value >= 0x1p63)
      return int64_t(value < 0x1p64 ? uint64_t(value) : UINT64_MAX);
    low = 0, high = INT64_MAX;
    break;
  case ElementType::u32:
    low = 0, high = UINT32_MAX;
    break;
  case ElementType::u16:
    low = 0, high = UINT16_MAX;
    break;
  case ElementType::u8:
    low = 0, high = UINT8_MAX;
    break;
  default:
    low = INT64_MIN, high = INT64_MAX;
  }
  if (value <= double(low))
    return low;
  if (value >= double(high))
    return high;
  return static_cast<int64_t>(value);
}

Cell convertCell(Cell cell, ElementType from, ElementType to) {
  Cell result;
  if (isFloat(to)) {
    // An int64 goes to float in one rounding.
    bool isSingle = to == ElementType::f32;
    double value;
    if (isFloat(from))
      value = cell.real;
    else if (from == ElementType::u64)
      value = isSingle ? float(uint64_t(cell.integer))
                       : double(uint64_t(cell.integer));
    else
      value = isSingle ? float(cell.integer) : double(cell.integer);
    result.real = roundToType(value, to);
  } else if (isBool(to)) {
    result.integer = isFloat(from) ? cell.real != 0.0 : cell.integer != 0;
  } else {
    result.integer = isFloat(from) ? truncateToInteger(cell.real, to)
                                   : wrapToType(cell.integer, to);
  }
  return result;
}

template <typename Number> static Number load(const char *bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

template <typename Number> static void store(char *bytes, Number number) {
  std::memcpy(bytes, &number, sizeof(number));
}

Cell readCell(const char *bytes, ElementType type) {
  Cell cell{.integer = 0};
  switch (type) {
  case ElementType::f64:
    cell.real = load<double>(bytes);
    break;
  case ElementType::f32:
    cell.real = load<float>(bytes);
    break;
  case ElementType::f16:
    cell.real = fromHalfBits(load<uint16_t>(bytes));
    break;
  case ElementType::bf16:
    cell.real = fromBrainBits(load<uint16_t>(bytes));
    break;
  case ElementType::i64:
    cell.integer = load<int64_t>(bytes);
    break;
  case ElementType::i32:
    cell.integer = load<int32_t>(bytes);
    break;
  case ElementType::i16:
    cell.integer = load<int16_t>(bytes);
    break;
  case ElementType::i8:
    cell.integer = load<int8_t>(bytes);
    break;
  case ElementType::u64:
    cell.integer = int64_t(load<uint64_t>(bytes));
    break;
  case ElementType::u32:
    cell.integer = load<uint32_t>(bytes);
    break;
  case ElementType::u16:
    cell.integer = load<uint16_t>(bytes);
    break;
  case ElementType::u8:
    cell.integer = load<uint8_t>(bytes);
    break;
  case ElementType::i1:
    cell.integer = load<uint8_t>(bytes) != 0;
    break;
  }
  return cell;
}

void writeCell(Cell cell, ElementType type, char *bytes) {
  switch (type) {
  case ElementType::f64:
    return store(bytes, cell.real);
  case ElementType::f32:
    return store(bytes, static_cast<float>(cell.real));
  case ElementType::f16:
    return store(bytes, toHalfBits(cell.real));
  case ElementType::bf16:
    return store(bytes, toBrainBits(cell.real));
  case ElementType::i64:
  case ElementType::u64:
    return store(bytes, cell.integer);
  case ElementType::i32:
  case ElementType::u32:
    return store(bytes, static_cast<int32_t>(cell.integer));
  case ElementType::i16:
  case ElementType::u16:
    return store(bytes, static_cast<int16_t>(cell.integer));
  case ElementType::i8:
  case ElementType::u8:
  case ElementType::i1:
    return store(bytes, static_cast<uint8_t>(cell.integer));
  }
}

} // namespace parplan::importer
