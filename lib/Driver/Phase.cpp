//===- Phase.cpp - Running a phase of passes ------------------------------===//

#include "lib/Driver/Phase.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace parplan;

bool parplan::runPhase(mlir::ModuleOp module, llvm::StringRef phase,
                       llvm::function_ref<void(mlir::OpPassManager &)> build,
                       DiagnosticEngine &engine) {
  mlir::MLIRContext *context = module.getContext();
  mlir::ScopedDiagnosticHandler handler(
      context, [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
          return mlir::success();
        engine.error(codes::internalError)
            << "phase " << phase.str() << ": " << sanitize(diagnostic.str());
        return mlir::success();
      });
  mlir::PassManager manager(context);
  // Once per phase: after every pass it would take longer than the passes.
  manager.enableVerifier(false);
  build(manager);
  if (mlir::succeeded(manager.run(module)) &&
      mlir::succeeded(mlir::verify(module)))
    return !engine.hasErrors();
  if (!engine.hasErrors())
    engine.error(codes::internalError) << "phase " << phase.str() << " failed";
  return false;
}
