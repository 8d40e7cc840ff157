//===- Phase.h - Running a phase of passes ----------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_PHASE_H
#define PARPLAN_DRIVER_PHASE_H

#include "lib/Import/ModelInfo.h"
#include "parplan/Support/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <optional>
#include <string>

namespace parplan {

/// Runs the passes that `build` appends on `module` and verifies it. What a
/// pass or verifier says becomes an internal error that names the phase: the
/// input has been checked before. False after an error.
bool runPhase(mlir::ModuleOp module, llvm::StringRef phase,
              llvm::function_ref<void(mlir::OpPassManager &)> build,
              DiagnosticEngine &engine);

/// The same for passes that change nothing, in a module that is verified.
bool runChecks(mlir::ModuleOp module, llvm::StringRef phase,
               llvm::function_ref<void(mlir::OpPassManager &)> build,
               DiagnosticEngine &engine);

/// The same for passes that leave the model as it is where something does not
/// allow what they do: `obstacle` is the first that they warn of, with the node
/// that it is about.
bool runPhase(mlir::ModuleOp module, llvm::StringRef phase,
              llvm::function_ref<void(mlir::OpPassManager &)> build,
              const ModelInfo &info, std::optional<std::string> &obstacle,
              DiagnosticEngine &engine);

/// The same for passes whose errors and warnings are about the model: they get
/// these codes, at the node of their location.
bool runModelPhase(mlir::ModuleOp module, llvm::StringRef phase,
                   llvm::function_ref<void(mlir::OpPassManager &)> build,
                   const ModelInfo &info, const DiagnosticCode &error,
                   const DiagnosticCode &warning, DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_DRIVER_PHASE_H
