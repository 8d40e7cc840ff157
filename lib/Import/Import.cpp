//===- Import.cpp - From an ONNX file to the parplan dialect ---*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Import.h"

#include "lib/Import/Emit/Emitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace parplan {

ImportedModel importModel(mlir::MLIRContext &context,
                          const ImportOptions &options,
                          DiagnosticEngine &diagnostics) {
  std::optional<importer::ImportedGraph> imported =
      importer::importGraph(options, diagnostics);
  if (!imported)
    return {};
  context.getOrLoadDialect<ParplanDialect>();
  context.getOrLoadDialect<mlir::func::FuncDialect>();
  return {importer::Emitter(context, *imported).emit(), imported->info};
}

} // namespace parplan
