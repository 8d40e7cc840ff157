//===- IRDumper.h - The module after every phase, on request ----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_IRDUMPER_H
#define PARPLAN_DRIVER_IRDUMPER_H

#include "parplan/Planner/PlanningProblem.h"
#include "parplan/Support/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace parplan {

/// Writes `NN-phase.mlir` and `problem.json` into a directory; does nothing
/// without one.
class IRDumper {
public:
  IRDumper(std::string directory, DiagnosticEngine &engine)
      : directory(std::move(directory)), engine(engine) {}

  bool isActive() const { return !directory.empty(); }
  void dump(mlir::ModuleOp module, llvm::StringRef phase);
  void dump(const PlanningProblem &problem);

private:
  /// False where there is nothing to be written, or no place.
  bool makeDirectory();

  std::string directory;
  DiagnosticEngine &engine;
  int count = 0;
};

} // namespace parplan

#endif // PARPLAN_DRIVER_IRDUMPER_H
