//===- ExecOps.h - Operations of the exec dialect ---------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_EXEC_EXECOPS_H
#define PARPLAN_DIALECTS_EXEC_EXECOPS_H

#include "dialects/exec/ExecDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace parplan::exec {
class ProgramOp;

/// The bytes that element type takes in a buffer.
int64_t getStorageBytes(mlir::Type elementType);
} // namespace parplan::exec

#include "dialects/exec/ExecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.h.inc"

#include "parplan_runtime/shapes.h"

namespace parplan::exec {

/// The shapes that the runtime's kernels take, for their workspace formulas.
runtime::ConvolutionShape getRuntimeShape(ConvolutionOp op);
runtime::AttentionShape getRuntimeShape(AttentionOp op);

} // namespace parplan::exec

#endif // PARPLAN_DIALECTS_EXEC_EXECOPS_H
