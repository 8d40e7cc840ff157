//===- Frontend.h - From a model file to a planning problem -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_FRONTEND_H
#define PARPLAN_DRIVER_FRONTEND_H

#include "lib/Import/Import.h"
#include "parplan/Support/Diagnostics.h"
#include "passes/Plan/GraphProblem.h"

#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <optional>

namespace parplan {

class IRDumper;

/// Creates a context with the dialects of parplan, without threads: the phases
/// run one after the other on one function.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// A model after the phases load to simplify, and its planning problem.
struct Frontend {
  ImportedModel model;
  GraphProblem graph;

  mlir::func::FuncOp getMain() const;
};

/// Runs load, normalise, import and simplify. Reports and returns nothing on a
/// bad model.
std::optional<Frontend> runFrontend(mlir::MLIRContext &context,
                                    const ImportOptions &options,
                                    IRDumper &dumper, DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_DRIVER_FRONTEND_H
