//===- Windows.h - Attributes of convolutions and pooling -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_OPERATORS_WINDOWS_H
#define PARPLAN_LIB_IMPORT_OPERATORS_WINDOWS_H

#include "lib/Import/Operators/NodeContext.h"

namespace parplan::importer {

/// Positive integers per spatial dimension; ones if the attribute is absent.
llvm::SmallVector<int64_t, 3> getPositive(NodeContext &node,
                                          std::string_view name, size_t count);

/// ONNX lists all starts, then all ends: the pads as a Window has them.
llvm::SmallVector<int64_t, 6> pairPads(llvm::ArrayRef<int64_t> pads);

/// Strides, dilations and pads, automatic ones worked out for an input of that
/// shape.
Window readWindow(NodeContext &node, ShapeRef input,
                  llvm::ArrayRef<int64_t> size);

/// Fails if a weight does not fit an input, or the attribute kernel_shape.
void checkKernel(NodeContext &node, ShapeRef input, ShapeRef kernel);

/// All dimensions of the operand but the first two.
llvm::SmallVector<int64_t, 3> getSpatialDims(NodeContext &node);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_OPERATORS_WINDOWS_H
