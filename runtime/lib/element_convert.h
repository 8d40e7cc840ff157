//===- element_convert.h - From one element type to another ---------------===//

#ifndef PARPLAN_RUNTIME_LIB_ELEMENT_CONVERT_H
#define PARPLAN_RUNTIME_LIB_ELEMENT_CONVERT_H

#include "parplan_runtime/tables.h"

namespace parplan {
namespace runtime {

/// The element type of a TensorProto.DataType; false when there is none.
bool elementTypeOfOnnx(int32_t onnxType, ElementType &type);
/// The type's name in safetensors files; null when they have no such type.
const char *safetensorsType(int32_t onnxType);
const char *safetensorsType(ElementType type);
/// Bytes of an element of the ONNX type; 0 when it has no fixed width.
int64_t onnxElementBytes(int32_t onnxType);

/// Rounds floating-point elements to the nearest (ties to even); equal types
/// are copied. False when a type is no floating-point type.
bool convertElements(ElementType from, const char *in, ElementType to,
                     char *out, int64_t count);

/// The first element that is NaN or infinite; -1 when there is none.
int64_t findNotFinite(ElementType type, const char *data, int64_t count);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_ELEMENT_CONVERT_H
