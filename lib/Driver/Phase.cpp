//===- Phase.cpp - Running a phase of passes ------------------------------===//

#include "lib/Driver/Phase.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace parplan;

using BuildPasses = llvm::function_ref<void(mlir::OpPassManager &)>;

static bool runPasses(mlir::ModuleOp module, llvm::StringRef phase,
                      BuildPasses build, DiagnosticEngine &engine) {
  mlir::PassManager manager(module.getContext());
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

bool parplan::runPhase(mlir::ModuleOp module, llvm::StringRef phase,
                       BuildPasses build, DiagnosticEngine &engine) {
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
          return mlir::success();
        engine.error(codes::internalError)
            << "phase " << phase.str() << ": " << sanitize(diagnostic.str());
        return mlir::success();
      });
  return runPasses(module, phase, build, engine);
}

static Location locate(mlir::Location location, const ModelInfo &info) {
  auto node = mlir::dyn_cast<mlir::FileLineColLoc>(location);
  if (node && node.getColumn() > 0 && node.getLine() < info.getNodeCount())
    return info.locateNode(node.getLine());
  return Location::inFile(info.getPath());
}

bool parplan::runModelPhase(mlir::ModuleOp module, llvm::StringRef phase,
                            BuildPasses build, const ModelInfo &info,
                            const DiagnosticCode &error,
                            const DiagnosticCode &warning,
                            DiagnosticEngine &engine) {
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        Location location = locate(diagnostic.getLocation(), info);
        bool isError =
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        bool isWarning =
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning;
        if (!isError && !isWarning)
          return mlir::success();
        DiagnosticBuilder report =
            isError ? engine.error(error) : engine.warning(warning);
        report.at(std::move(location));
        report << sanitize(diagnostic.str());
        for (const mlir::Diagnostic &note : diagnostic.getNotes())
          report.note(sanitize(note.str()));
        return mlir::success();
      });
  return runPasses(module, phase, build, engine);
}
