//===- Element.h - Element types of the imported graph ----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_GRAPH_ELEMENT_H
#define PARPLAN_LIB_IMPORT_GRAPH_ELEMENT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>

namespace parplan::importer {

/// The element types that the parplan dialect has.
enum class ElementType : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i64,
  i32,
  i16,
  i8,
  i4,
  i2,
  u64,
  u32,
  u16,
  u8,
  u4,
  u2,
  i1
};

using Shape = llvm::SmallVector<int64_t, 6>;
using ShapeRef = llvm::ArrayRef<int64_t>;

/// The type for a number of ONNX's TensorProto.DataType; none for strings and
/// complex numbers.
std::optional<ElementType> fromOnnxType(int32_t onnxType);

/// The number of ONNX's TensorProto.DataType.
int32_t toOnnxType(ElementType type);

/// "float16", "string", ...: ONNX's name of a data type, known here or not.
std::string printOnnxType(int32_t onnxType);

const char *printElementType(ElementType type);

bool isFloat(ElementType type);
inline bool isUnsigned(ElementType type) {
  return type >= ElementType::u64 && type <= ElementType::u2;
}
inline bool isBool(ElementType type) { return type == ElementType::i1; }
inline bool isInteger(ElementType type) {
  return !isFloat(type) && !isBool(type);
}

/// Narrow types are in files and in the graph only, where elements are moved
/// and cast. The dialect has their numbers in another type.
bool isNarrow(ElementType type);
/// The type of the dialect that holds all numbers of a type; itself if it is
/// not narrow.
ElementType getCarrier(ElementType type);

/// Bits of one element in a file; i1 takes a whole byte.
int64_t getElementBits(ElementType type);
/// Bytes of one element in a file, where it has bytes of its own.
inline int64_t getElementBytes(ElementType type) {
  return getElementBits(type) / 8;
}
/// Bytes of so many elements in a file. Those that are less than a byte fill
/// bytes from the lowest bit on.
int64_t getTensorBytes(ElementType type, int64_t count);

/// Elements of a shape. Shapes in the graph are checked: this cannot overflow.
int64_t countElements(ShapeRef shape);

/// True if no size is negative and the product of those that are not 0 is at
/// most 2^48, so that no product of some of them overflows.
bool isWithinLimits(ShapeRef shape);

/// "[8, 32, 512]".
std::string printShape(ShapeRef shape);

/// One element of a constant: an integer (also for i1: 0 or 1; for u64 its
/// bits) or a double that is exactly representable in the element type.
union Cell {
  int64_t integer;
  double real;
};
static_assert(sizeof(Cell) == 8);

/// Rounds to the nearest value of a floating-point type.
double roundToType(double value, ElementType type);

/// Wraps to the range of an integer type.
int64_t wrapToType(int64_t value, ElementType type);

/// Converts as ONNX's Cast does; a float outside the range of an integer type
/// becomes the nearest value of that range, NaN becomes 0.
Cell convertCell(Cell cell, ElementType from, ElementType to);

/// Reads one of the elements that lie one after the other in `bytes`.
Cell readElement(std::string_view bytes, int64_t index, ElementType type);

/// Reads one element of a little-endian file, with bytes of its own.
Cell readCell(const char *bytes, ElementType type);

/// Writes one element as a little-endian file has it; of no narrow type.
void writeCell(Cell cell, ElementType type, char *bytes);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_GRAPH_ELEMENT_H
