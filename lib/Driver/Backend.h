//===- Backend.h - From a plan to files of an output directory --*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_BACKEND_H
#define PARPLAN_DRIVER_BACKEND_H

#include "lib/Driver/Frontend.h"
#include "lib/Driver/Options.h"
#include "parplan/Planner/PlanCosts.h"
#include "parplan/Simulator/Simulator.h"

#include <atomic>

namespace parplan {

class OutputDirectory;

/// The program of a rank, or those of the positions of a pipeline, after
/// partition and schedule, with what a run of them will measure.
struct LoweredProgram {
  LoweredProgram() = default;
  LoweredProgram(LoweredProgram &&) = default;
  /// The other one takes, and frees, what was here.
  LoweredProgram &operator=(LoweredProgram &&other);
  /// Frees programs side by side.
  ~LoweredProgram();

  mlir::OwningOpRef<mlir::ModuleOp> module;
  Prediction prediction;
};

/// parplan_runtime.json, which says how programs are compiled.
std::string findRuntimeFile();

/// Applies a plan to a copy of the module and runs the phases from partition to
/// schedule. Whatever fails here is our fault and reported as such. Nothing
/// after the phase in which somebody sets `stop`.
std::optional<LoweredProgram> lower(const Frontend &frontend,
                                    const PlanningAnswer &answer,
                                    const PlanCosts &costs, IRDumper &dumper,
                                    DiagnosticEngine &engine,
                                    const std::atomic<bool> *stop = nullptr);

/// Writes the source, the weights, the source map and the manifest, and builds
/// the executable, as far as `options.emit` goes. False after an error.
bool emitProgram(const Frontend &frontend, const LoweredProgram &lowered,
                 const CompileOptions &options, OutputDirectory &directory,
                 DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_DRIVER_BACKEND_H
