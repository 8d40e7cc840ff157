//===- SchemaBodies.h - Operators that ONNX defines by others ---*- C++ -*-===//
//
// Part of parplan.
//
// Operators without a row in the table, but with a function body in ONNX's
// schemas, are entered like local functions. A row is always preferred: it
// gives fewer ops, and ones that sharding rules know.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_SWEEP_SCHEMABODIES_H
#define PARPLAN_LIB_IMPORT_SWEEP_SCHEMABODIES_H

#include "lib/Import/Graph/GraphBuilder.h"

namespace onnx {
class FunctionProto;
class NodeProto;
} // namespace onnx

namespace parplan::importer {

/// True if the operator has a body in this opset of its domain.
bool hasSchemaBody(const onnx::NodeProto &node, int opset);

/// The body for a node of an operator that has one, with the defaults of its
/// attributes. A NodeFailure where the node does not fit its schema.
onnx::FunctionProto buildSchemaBody(const onnx::NodeProto &node, int opset,
                                    llvm::ArrayRef<ValueId> inputs,
                                    const GraphBuilder &builder);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_SWEEP_SCHEMABODIES_H
