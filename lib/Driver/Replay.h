//===- Replay.h - A plan.json with the model it is of -----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_REPLAY_H
#define PARPLAN_DRIVER_REPLAY_H

#include "lib/Driver/Frontend.h"
#include "lib/Driver/Options.h"
#include "lib/Report/PlanDocument.h"

namespace parplan {

/// A plan.json, read and looked over.
struct PlanFile {
  std::string path;
  Json document;
  PlanClaims claims;
};

/// Reports E401x for a file that is none.
std::optional<PlanFile> readPlan(const std::string &path,
                                 DiagnosticEngine &engine);

/// What a plan decided, on its own problem and machines.
struct Replay {
  std::unique_ptr<mlir::MLIRContext> context;
  SimplifiedModel model;
  /// The same, finished.
  Frontend frontend;
  Cluster cluster;
  PlanningAnswer answer;
  /// What they were made with.
  FrontendOptions request;
};

/// The type that a plan computes in.
ComputePrecision getComputePrecision(const PlanClaims &claims);

/// The options of the training step of a plan; without one, nothing.
std::optional<TrainingOptions> getTrainingOptions(const PlanClaims &claims,
                                                  DiagnosticEngine &engine);

/// Imports the model at `modelPath` as the plan says, with the values of
/// `dimensions` in place of its own, and reads the decisions. Reports a plan
/// that is of another model (E4012) or is not legal (E4013).
std::optional<Replay>
replayPlan(const PlanFile &plan, const std::string &modelPath,
           const std::map<std::string, int64_t> &dimensions, IRDumper &dumper,
           DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_DRIVER_REPLAY_H
