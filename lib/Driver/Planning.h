//===- Planning.h - From a problem to a plan that fits ----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_PLANNING_H
#define PARPLAN_DRIVER_PLANNING_H

#include "lib/Driver/Frontend.h"
#include "lib/Driver/Options.h"
#include "lib/Driver/WaysOut.h"
#include "lib/Report/PlanDocument.h"
#include "parplan/Cluster/Cluster.h"
#include "parplan/Planner/FindPlan.h"
#include "parplan/Planner/PlanChoice.h"
#include "parplan/Planner/Solver.h"
#include "parplan/Support/Json.h"

namespace parplan {

/// The preset or file of the options' cluster: the target's default without
/// one.
std::string getClusterSource(const CompileOptions &options);

/// The cluster of the options: a preset, a file, or the target's default, with
/// `--gpus` devices. Reports what is wrong with it.
std::optional<Cluster> chooseCluster(const CompileOptions &options,
                                     DiagnosticEngine &engine);

/// How far a search was that found nothing.
enum class SearchEnd { allSeen, timeOver };

/// Reports that no plan fits, with `reason` behind the common words, and what
/// to do.
void reportNoPlanFits(const CompileOptions &options, int64_t memoryLimitBytes,
                      const std::string &reason, SearchEnd end,
                      const WaysOut &waysOut, DiagnosticEngine &engine);

/// Reports that there is no plan whatever memory there is, and why.
void reportNoPlanPossible(const CompileOptions &options,
                          const std::vector<std::string> &refusals,
                          SearchEnd end, const WaysOut &waysOut,
                          DiagnosticEngine &engine);

/// That a server needs `bytes`.
std::string describeServerNeed(const ServerChoice &servers, int64_t bytes);

/// The numbers of ranks that may share a sequence, by the options.
std::vector<int64_t> getContextSizes(const PlanningProblem &problem,
                                     const CompileOptions &options,
                                     const Cluster &cluster);

/// What a rank may have of host memory and of NVMe.
void setTierLimits(const Cluster &cluster, PlanRequest &request);

/// What the options ask of a plan, within so many bytes a device.
PlanRequest getRequest(const CompileOptions &options, const Cluster &cluster,
                       int64_t memoryLimitBytes);

/// What products are computed in.
Precision getPrecision(const CompileOptions &options);

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

/// Takes the plan of `--plan`, which must be of a model with `modelSha256`, if
/// the evaluator confirms it. It comes without a bound.
std::optional<PlanResult> takePlan(const Frontend &frontend,
                                   const CompileOptions &options,
                                   const std::string &modelSha256,
                                   const PlanCosts &costs,
                                   DiagnosticEngine &engine);

/// Searches the plans of a candidate within so many bytes a device, and
/// seconds; a plan is confirmed by the evaluator. Reports what the model does
/// not allow of `--force`.
PlanResult searchPlan(const Frontend &frontend, const CompileOptions &options,
                      const Cluster &cluster, const PlanCosts &costs,
                      const PlanCandidate &candidate, int64_t memoryLimitBytes,
                      double seconds, const SearchControl &control,
                      DiagnosticEngine &engine);

/// What one search over all numbers of micro-batches and positions of a
/// pipeline looks at.
FindPlanOptions getJointOptions(const Cluster &cluster);

/// That search.
class JointPlanner {
public:
  /// `costs` must stay.
  JointPlanner(StepProblems steps, const CompileOptions &options,
               const Cluster &cluster, const PlanCosts &costs,
               SearchEffort effort);
  /// Returns before everything is freed.
  ~JointPlanner();

  /// `likely` is told of the plan that the search goes on to prove, and of
  /// better ones that it finds then.
  using Likely =
      std::function<void(int64_t microBatches, const PlanningAnswer &answer)>;
  PlanResult search(int64_t memoryLimitBytes, double seconds,
                    const SearchControl &control, const Likely &likely);

private:
  StepProblems steps;
  PlanRequest request;
  const PlanCosts &costs;
  std::shared_ptr<PlanFinder> finder;
};

/// Seconds that every such plan takes, whatever memory; 0 where so much time
/// does not suffice to find that.
double getLeastSeconds(const Frontend &frontend, const CompileOptions &options,
                       const Cluster &cluster, const PlanCosts &costs,
                       const PlanCandidate &candidate, double seconds);

} // namespace parplan

#endif // PARPLAN_DRIVER_PLANNING_H
