//===- Import.h - From an ONNX file to the parplan dialect ------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_IMPORT_H
#define PARPLAN_LIB_IMPORT_IMPORT_H

#include "lib/Import/ModelInfo.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace parplan {

struct ImportedModel {
  /// Empty if the import failed.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::shared_ptr<const ModelInfo> info;

  explicit operator bool() const { return bool(module); }
};

/// Imports a model: guards, ONNX's checker, sizes of dimensions, folding. The
/// module holds a `parplan.initializer` per weight and the function @main,
/// whose ops have the location (file, node index, 1), column 0 where there is
/// no node, and the attributes `parplan.node` and `parplan.onnx_op`. No shape
/// arithmetic is left. All problems of the phase are reported; the module is
/// verified by who runs the pipeline.
ImportedModel importModel(mlir::MLIRContext &context,
                          const ImportOptions &options,
                          DiagnosticEngine &diagnostics);

} // namespace parplan

#endif // PARPLAN_LIB_IMPORT_IMPORT_H
