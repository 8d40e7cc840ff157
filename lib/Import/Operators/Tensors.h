//===- Tensors.h - Constants from messages and bytes ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_OPERATORS_TENSORS_H
#define PARPLAN_LIB_IMPORT_OPERATORS_TENSORS_H

#include "lib/Import/Graph/GraphBuilder.h"

namespace onnx {
class TensorProto;
}

namespace parplan::importer {

/// A constant from a tensor whose size the guards have checked.
ValueId makeConstant(GraphBuilder &builder, const onnx::TensorProto &tensor);

/// A constant from bytes as a file has them; there are enough of them.
ValueId makeConstant(GraphBuilder &builder, ElementType type, ShapeRef shape,
                     std::string_view bytes);

/// The elements of a tensor with typed data, as a file has them.
std::string getRawBytes(const onnx::TensorProto &tensor, ElementType type);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_OPERATORS_TENSORS_H
