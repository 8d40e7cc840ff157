//===- Element.cpp - Element types of the imported graph -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/Element.h"

#include "lib/Import/Graph/NarrowFloat.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/CheckedMath.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace parplan::importer {

namespace {
struct TypeEntry {
  ElementType type, carrier;
  int32_t onnxType, bits;
};
} // namespace

/// In the order of ElementType.
static const TypeEntry typeEntries[] = {
    {ElementType::f64, ElementType::f64, 11, 64},
    {ElementType::f32, ElementType::f32, 1, 32},
    {ElementType::f16, ElementType::f16, 10, 16},
    {ElementType::bf16, ElementType::bf16, 16, 16},
    {ElementType::f8e4m3fn, ElementType::f32, 17, 8},
    {ElementType::f8e4m3fnuz, ElementType::f32, 18, 8},
    {ElementType::f8e5m2, ElementType::f32, 19, 8},
    {ElementType::f8e5m2fnuz, ElementType::f32, 20, 8},
    {ElementType::f8e8m0, ElementType::f32, 24, 8},
    {ElementType::f4e2m1, ElementType::f32, 23, 4},
    {ElementType::i64, ElementType::i64, 7, 64},
    {ElementType::i32, ElementType::i32, 6, 32},
    {ElementType::i16, ElementType::i16, 5, 16},
    {ElementType::i8, ElementType::i8, 3, 8},
    {ElementType::i4, ElementType::i8, 22, 4},
    {ElementType::i2, ElementType::i8, 26, 2},
    {ElementType::u64, ElementType::u64, 13, 64},
    {ElementType::u32, ElementType::u32, 12, 32},
    {ElementType::u16, ElementType::u16, 4, 16},
    {ElementType::u8, ElementType::u8, 2, 8},
    {ElementType::u4, ElementType::u8, 21, 4},
    {ElementType::u2, ElementType::u8, 25, 2},
    {ElementType::i1, ElementType::i1, 9, 8},
};

/// By ONNX's number.
static const char *const onnxNames[] = {
    "undefined",      "float",      "uint8",
    "int8",           "uint16",     "int16",
    "int32",          "int64",      "string",
    "bool",           "float16",    "double",
    "uint32",         "uint64",     "complex64",
    "complex128",     "bfloat16",   "float8e4m3fn",
    "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",          "int4",       "float4e2m1",
    "float8e8m0",     "uint2",      "int2"};

static const TypeEntry &getEntry(ElementType type) {
  return typeEntries[static_cast<size_t>(type)];
}

std::optional<ElementType> fromOnnxType(int32_t onnxType) {
  for (const TypeEntry &entry : typeEntries)
    if (entry.onnxType == onnxType)
      return entry.type;
  return std::nullopt;
}

int32_t toOnnxType(ElementType type) { return getEntry(type).onnxType; }

std::string printOnnxType(int32_t onnxType) {
  if (onnxType >= 0 && onnxType < int32_t(std::size(onnxNames)))
    return onnxNames[onnxType];
  return "type " + std::to_string(onnxType);
}

const char *printElementType(ElementType type) {
  return onnxNames[toOnnxType(type)];
}

bool isFloat(ElementType type) { return type <= ElementType::f4e2m1; }

bool isNarrow(ElementType type) { return getCarrier(type) != type; }

ElementType getCarrier(ElementType type) { return getEntry(type).carrier; }

int64_t getElementBits(ElementType type) { return getEntry(type).bits; }

int64_t getTensorBytes(ElementType type, int64_t count) {
  int64_t perByte = 8 / getElementBits(type);
  return perByte > 1 ? count / perByte + (count % perByte != 0)
                     : count * getElementBytes(type);
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

static Cell readNarrowCell(unsigned code, ElementType type) {
  Cell cell{.integer = code};
  if (isFloat(type))
    cell.real = decodeNarrowFloat(code, type);
  else if (int64_t codes = int64_t(1) << getElementBits(type);
           !isUnsigned(type) && code >= codes / 2)
    cell.integer -= codes;
  return cell;
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
  default:
    return readNarrowCell(load<uint8_t>(bytes), type);
  }
  return cell;
}

Cell readElement(std::string_view bytes, int64_t index, ElementType type) {
  int64_t bits = getElementBits(type);
  if (bits >= 8)
    return readCell(bytes.data() + index * (bits / 8), type);
  int64_t position = index * bits;
  unsigned byte = load<uint8_t>(bytes.data() + position / 8);
  unsigned code = (byte >> (position % 8)) & ((1u << bits) - 1);
  return readNarrowCell(code, type);
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
  default:
    PARPLAN_UNREACHABLE("bytes of ", printElementType(type));
  }
}

} // namespace parplan::importer
