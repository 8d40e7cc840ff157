//===- Planning.h - From a problem to a plan that fits ----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_PLANNING_H
#define PARPLAN_DRIVER_PLANNING_H

#include "lib/Driver/Frontend.h"
#include "lib/Driver/Options.h"
#include "lib/Report/PlanDocument.h"
#include "parplan/Cluster/Cluster.h"
#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanningAnswer.h"
#include "parplan/Planner/Solver.h"
#include "parplan/Support/Json.h"

#include <limits>

namespace parplan {

/// The preset or file of the options' cluster: the target's default without
/// one.
std::string getClusterSource(const CompileOptions &options);

/// The cluster of the options: a preset, a file, or the target's default, with
/// `--gpus` devices. Reports what is wrong with it.
std::optional<Cluster> chooseCluster(const CompileOptions &options,
                                     DiagnosticEngine &engine);

/// Reports that no plan fits, with `reason` behind the common words.
void reportNoPlanFits(const CompileOptions &options, int64_t memoryLimitBytes,
                      const std::string &reason, DiagnosticEngine &engine);

/// The numbers of ranks that may share a sequence, by the options.
std::vector<int64_t> getContextSizes(const PlanningProblem &problem,
                                     const CompileOptions &options,
                                     const Cluster &cluster);

/// What a rank may have of host memory and of NVMe.
void setTierLimits(const Cluster &cluster, PlanRequest &request);

/// What products are computed in.
Precision getPrecision(const CompileOptions &options);

/// A plan with what it costs.
struct Plan {
  PlanningAnswer answer;
  PlanEvaluation evaluation;
  Certificate certificate;
  /// No plan whose parameters fit is faster. The certificate of the search is
  /// about estimated peaks of memory; this is not.
  double boundWithoutLimitSeconds = 0;
};

/// What the plan.json at `path` says of itself; reports what is wrong with it.
std::optional<PlanClaims> readPlanClaims(const std::string &path,
                                         DiagnosticEngine &engine);

/// False, after reporting, when `plan.json` is of a model with another SHA-256.
bool confirmModel(const std::string &planSha256, const std::string &modelSha256,
                  const std::string &planPath, DiagnosticEngine &engine);

/// False, after reporting, when the plan has a sequence in an order that the
/// model does not allow.
bool confirmOrder(const Frontend &frontend, const std::string &planPath,
                  DiagnosticEngine &engine);

/// What is known of plans where none was found.
struct PlanLack {
  /// The smallest estimated peak of memory, where only these are too large.
  std::optional<int64_t> smallestBytes;
  /// No plan is faster, whatever memory it needs.
  double boundSeconds = std::numeric_limits<double>::infinity();
};

/// Searches for the best plan within `memoryLimitBytes`, or takes that of
/// `--plan`, which must be of a model with `modelSha256`; the evaluator
/// confirms either. Reports E40xx where there is none; with `lack`, it fills
/// that in, and reports nothing where only the estimated peaks of memory are
/// too large.
std::optional<Plan>
makePlan(const Frontend &frontend, const CompileOptions &options,
         const Cluster &cluster, const std::string &modelSha256,
         const PlanCosts &costs, int64_t memoryLimitBytes, PlanLack *lack,
         DiagnosticEngine &engine, SearchEffort effort = SearchEffort::usual);

} // namespace parplan

#endif // PARPLAN_DRIVER_PLANNING_H
