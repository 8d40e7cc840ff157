//===- Phase.cpp - Running a phase of passes ------------------------------===//

#include "lib/Driver/Phase.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace parplan;

using BuildPasses = llvm::function_ref<void(mlir::OpPassManager &)>;

static bool runPasses(mlir::ModuleOp module, llvm::StringRef phase,
                      BuildPasses build, DiagnosticEngine &engine,
                      bool verifies = true) {
  mlir::PassManager manager(module.getContext());
  // Once per phase: after every pass it would take longer than the passes.
  manager.enableVerifier(false);
  build(manager);
  if (mlir::succeeded(manager.run(module)) &&
      (!verifies || mlir::succeeded(mlir::verify(module))))
    return !engine.hasErrors();
  if (!engine.hasErrors())
    engine.error(codes::internalError) << "phase " << phase.str() << " failed";
  return false;
}

/// Hands warnings to `warn`.
static bool runPhaseWith(mlir::ModuleOp module, llvm::StringRef phase,
                         BuildPasses build,
                         llvm::function_ref<void(mlir::Diagnostic &)> warn,
                         DiagnosticEngine &engine, bool verifies = true) {
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          engine.error(codes::internalError)
              << "phase " << phase.str() << ": " << sanitize(diagnostic.str());
        else if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning)
          warn(diagnostic);
        return mlir::success();
      });
  return runPasses(module, phase, build, engine, verifies);
}

bool parplan::runPhase(mlir::ModuleOp module, llvm::StringRef phase,
                       BuildPasses build, DiagnosticEngine &engine) {
  return runPhaseWith(
      module, phase, build, [](mlir::Diagnostic &) {}, engine);
}

bool parplan::runChecks(mlir::ModuleOp module, llvm::StringRef phase,
                        BuildPasses build, DiagnosticEngine &engine) {
  return runPhaseWith(
      module, phase, build, [](mlir::Diagnostic &) {}, engine,
      /*verifies=*/false);
}

/// The index of the node at `location`, if there is one.
static std::optional<size_t> findNode(mlir::Location location,
                                      const ModelInfo &info) {
  auto node = mlir::dyn_cast<mlir::FileLineColLoc>(location);
  if (node && node.getColumn() > 0 && node.getLine() < info.getNodeCount())
    return node.getLine();
  return std::nullopt;
}

bool parplan::runPhase(mlir::ModuleOp module, llvm::StringRef phase,
                       BuildPasses build, const ModelInfo &info,
                       std::optional<std::string> &obstacle,
                       DiagnosticEngine &engine) {
  auto warn = [&](mlir::Diagnostic &diagnostic) {
    if (obstacle)
      return;
    std::optional<size_t> node = findNode(diagnostic.getLocation(), info);
    obstacle =
        (node ? "node " + quoteName(info.getNodeName(*node)) + ": " : "") +
        sanitize(diagnostic.str());
  };
  return runPhaseWith(module, phase, build, warn, engine);
}

static Location locate(mlir::Location location, const ModelInfo &info) {
  std::optional<size_t> node = findNode(location, info);
  return node ? info.locateNode(*node) : Location::inFile(info.getPath());
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
