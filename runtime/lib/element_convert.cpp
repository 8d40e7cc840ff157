//===- element_convert.cpp - From one element type to another -------------===//

#include "element_convert.h"

#include <cmath>
#include <cstring>

namespace parplan {
namespace runtime {

namespace {

struct OnnxType {
  int32_t onnx;
  const char *safetensors;
  int64_t bytes;
  bool known;
  ElementType type;
};
constexpr OnnxType onnxTypes[] = {
    {1, "F32", 4, true, ElementType::Float32},
    {2, "U8", 1, true, ElementType::UInt8},
    {3, "I8", 1, true, ElementType::Int8},
    {4, "U16", 2, true, ElementType::UInt16},
    {5, "I16", 2, true, ElementType::Int16},
    {6, "I32", 4, true, ElementType::Int32},
    {7, "I64", 8, true, ElementType::Int64},
    {9, "BOOL", 1, true, ElementType::Bool},
    {10, "F16", 2, true, ElementType::Float16},
    {11, "F64", 8, true, ElementType::Float64},
    {12, "U32", 4, true, ElementType::UInt32},
    {13, "U64", 8, true, ElementType::UInt64},
    {16, "BF16", 2, true, ElementType::BFloat16},
    {17, "F8_E4M3", 1, false, ElementType::UInt8},
    {19, "F8_E5M2", 1, false, ElementType::UInt8},
};

const OnnxType *find(int32_t onnxType) {
  for (const OnnxType &entry : onnxTypes)
    if (entry.onnx == onnxType)
      return &entry;
  return nullptr;
}

template <typename Bits> Bits load(const char *from) {
  Bits bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

/// float16 has 5 bits of exponent and 10 of mantissa; scaling by powers of two
/// in double is exact.
double fromHalf(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const double mantissa = half & 1023;
  double value;
  if (exponent == 31)
    value = mantissa != 0 ? NAN : INFINITY;
  else if (exponent == 0)
    value = std::ldexp(mantissa, -24);
  else
    value = std::ldexp(1024 + mantissa, exponent - 25);
  return half & 0x8000 ? -value : value;
}

uint16_t toHalf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (size >= 65520.0) // Half way to what would be the next number.
    return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);     // size = f * 2^exponent, f in [0.5, 1)
  if (size == 0 || exponent < -13) // Subnormal: multiples of 2^-24.
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(size, 24)));
  const double mantissa = std::nearbyint(std::ldexp(size, 11 - exponent));
  // The leading one of the mantissa adds one to the exponent's field.
  return sign | static_cast<uint16_t>(((exponent + 13) << 10) +
                                      static_cast<int>(mantissa));
}

uint16_t toBfloat(double wide) {
  const float value = static_cast<float>(wide);
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double readNumber(ElementType type, const char *from) {
  switch (type) {
  case ElementType::Float64:
    return load<double>(from);
  case ElementType::Float32:
    return load<float>(from);
  case ElementType::Float16:
    return fromHalf(load<uint16_t>(from));
  default: { // BFloat16
    const uint32_t bits = uint32_t(load<uint16_t>(from)) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  }
}

void storeNumber(ElementType type, double value, char *to) {
  if (type == ElementType::Float64) {
    std::memcpy(to, &value, sizeof value);
  } else if (type == ElementType::Float32) {
    const float narrow = static_cast<float>(value);
    std::memcpy(to, &narrow, sizeof narrow);
  } else {
    const uint16_t bits =
        type == ElementType::Float16 ? toHalf(value) : toBfloat(value);
    std::memcpy(to, &bits, sizeof bits);
  }
}

bool isFloating(ElementType type) {
  return type == ElementType::Float64 || type == ElementType::Float32 ||
         type == ElementType::Float16 || type == ElementType::BFloat16;
}

} // namespace

bool elementTypeOfOnnx(int32_t onnxType, ElementType &type) {
  const OnnxType *entry = find(onnxType);
  if (!entry || !entry->known)
    return false;
  type = entry->type;
  return true;
}

const char *safetensorsType(int32_t onnxType) {
  const OnnxType *entry = find(onnxType);
  return entry ? entry->safetensors : nullptr;
}

const char *safetensorsType(ElementType type) {
  for (const OnnxType &entry : onnxTypes)
    if (entry.known && entry.type == type)
      return entry.safetensors;
  return nullptr;
}

int64_t onnxElementBytes(int32_t onnxType) {
  const OnnxType *entry = find(onnxType);
  return entry ? entry->bytes : 0;
}

bool convertElements(ElementType from, const char *in, ElementType to,
                     char *out, int64_t count) {
  if (from == to) {
    std::memcpy(out, in, static_cast<size_t>(count * elementBytes(from)));
    return true;
  }
  if (!isFloating(from) || !isFloating(to))
    return false;
  const int64_t inWidth = elementBytes(from), outWidth = elementBytes(to);
  for (int64_t i = 0; i < count; ++i)
    storeNumber(to, readNumber(from, in + i * inWidth), out + i * outWidth);
  return true;
}

int64_t findNotFinite(ElementType type, const char *data, int64_t count) {
  if (!isFloating(type))
    return -1;
  const int64_t width = elementBytes(type);
  for (int64_t i = 0; i < count; ++i)
    if (!std::isfinite(readNumber(type, data + i * width)))
      return i;
  return -1;
}

} // namespace runtime
} // namespace parplan
