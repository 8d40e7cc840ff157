//===- PlanModel.h - From a model to a plan that fits -----------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_PLANMODEL_H
#define PARPLAN_DRIVER_PLANMODEL_H

#include "lib/Driver/Backend.h"
#include "lib/Driver/Frontend.h"
#include "lib/Driver/Planning.h"
#include "parplan/Planner/PlanChoice.h"

#include <chrono>

namespace parplan {

class Stopwatch {
public:
  double getSeconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

/// A model with its plan, and the program of one rank that carries it out.
struct PlannedModel {
  Frontend frontend;
  PlanResult plan;
  LoweredProgram lowered;
  /// Absent where there is no causal attention that ranks could share.
  std::optional<SequenceSummary> sequence;
  double importSeconds = 0;
  double searchSeconds = 0;
  /// The program was made beside the search.
  bool isLoweredEarly = false;
};

/// Imports the model for every number of micro-batches and every order of its
/// sequence that it is planned with, and chooses among them (`choosePlan`).
/// Reports where the model is at fault; and where no plan fits, with what of
/// the request is too much, and with what near it one does (`findWaysOut`).
std::optional<PlannedModel>
planModel(mlir::MLIRContext &context, const CompileOptions &options,
          const FrontendOptions &request, const Cluster &cluster,
          int64_t memoryLimitBytes, IRDumper &dumper, DiagnosticEngine &engine);

/// The same for a model that is imported, by the estimate of memory: without a
/// program.
PlanChoice planWithoutProgram(mlir::MLIRContext &context, SimplifiedModel model,
                              const CompileOptions &options,
                              const FrontendOptions &request,
                              const Cluster &cluster, int64_t memoryLimitBytes,
                              DiagnosticEngine &engine);

/// Why a sequence lies as the chosen candidate has it, by the seconds that the
/// others take; `obstacle`: what does not allow another order.
SequenceSummary describeSequence(const PlanCandidate &chosen,
                                 const std::map<PlanCandidate, double> &seconds,
                                 const std::optional<std::string> &obstacle);

/// Which tier besides the device is too small for a rank of a program.
std::optional<std::string> findSmallTier(const Cluster &cluster,
                                         const Prediction &prediction);

} // namespace parplan

#endif // PARPLAN_DRIVER_PLANMODEL_H
