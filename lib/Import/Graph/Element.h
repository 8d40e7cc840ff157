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
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  i1
};

using Shape = llvm::SmallVector<int64_t, 6>;
using ShapeRef = llvm::ArrayRef<int64_t>;

/// The type for a number of ONNX's TensorProto.DataType; none for those that
/// the dialect does not have.
std::optional<ElementType> fromOnnxType(int32_t onnxType);

/// The number of ONNX's TensorProto.DataType.
int32_t toOnnxType(ElementType type);

/// "float16", "string", ...: ONNX's name of a data type, known here or not.
std::string printOnnxType(int32_t onnxType);

const char *printElementType(ElementType type);

bool isFloat(ElementType type);
inline bool isUnsigned(ElementType type) {
  return type >= ElementType::u64 && type <= ElementType::u8;
}
inline bool isBool(ElementType type) { return type == ElementType::i1; }
inline bool isInteger(ElementType type) {
  return !isFloat(type) && !isBool(type);
}

/// Bytes of one element in a file; i1 takes a whole byte.
int64_t getElementBytes(ElementType type);

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

/// Reads one element of a little-endian file.
Cell readCell(const char *bytes, ElementType type);

/// Writes one element as a little-endian file has it.
void writeCell(Cell cell, ElementType type, char *bytes);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_GRAPH_ELEMENT_H
