//===- Solver.h - The exact solver ------------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_SOLVER_H
#define PARPLAN_PLANNER_SOLVER_H

#include "parplan/Planner/Candidates.h"
#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/SearchControl.h"

#include <chrono>
#include <limits>
#include <string>
#include <vector>

namespace parplan {

/// An algorithm forced on the ops whose node name matches a glob.
struct ForcedAlgorithm {
  std::string nodeGlob;
  Algorithm algorithm = Algorithm::replicate;
};

/// A forced schedule; `chunks` per position where the kind leaves it open.
struct ForcedSchedule {
  ScheduleKind kind = ScheduleKind::oneForwardOneBackward;
  int64_t chunks = 1;
};

/// What is made again for the backward pass, in place of being kept. Selective:
/// what takes much memory and little time (attention, softmax, norms,
/// activations). Full: all of a block but what enters it.
enum class RecomputeKind { none, selective, full };

/// Where what is not needed at once lies.
struct OffloadChoice {
  /// Of the states of the optimizer, and of the parameters. States move with
  /// their update.
  MemoryTier optimizer = MemoryTier::device;
  MemoryTier parameters = MemoryTier::device;
  /// Activations wait for the backward pass on the host.
  bool activations = false;

  bool isNone() const {
    return optimizer == MemoryTier::device &&
           parameters == MemoryTier::device && !activations;
  }
};

/// What the plan must respect.
struct PlanRequest {
  int64_t deviceCount = 1;
  int64_t memoryLimitBytes = 0;
  /// Forced sizes of the axes; unset ones are searched. `tensorSize` also asks
  /// for 1D tensor parallelism (`tp1d`).
  std::optional<int64_t> dataSize, tensorSize, contextSize, expertSize;
  /// Positions of the pipeline; unset: 1.
  std::optional<int64_t> pipelineSize;
  /// Unset: the fastest that fits.
  std::optional<ForcedSchedule> schedule;
  /// Unset: none.
  std::optional<RecomputeKind> recompute;
  /// Unset: nothing.
  std::optional<OffloadChoice> offload;
  /// What is left open of `recompute` and `offload` is chosen, too, where
  /// nothing fits without: the fastest that fits.
  bool mayResort = false;
  /// Memory of the other tiers for one rank; 0: there is no such tier.
  int64_t hostLimitBytes = 0;
  int64_t nvmeLimitBytes = 0;
  /// `tp2d`, `tp2.5d`, `tp3d`; excludes `tensorSize`.
  std::optional<ForcedGrid> grid;
  /// `sp=on`: what lies between products splits its sequence over the tensor
  /// axes; `sp=off`: nothing of the forward pass does.
  std::optional<bool> sequenceParallel;
  std::vector<ForcedAlgorithm> forcedAlgorithms;
  /// Servers keep the variables; `deviceCount` is without them.
  std::optional<ServerChoice> servers;
  /// Forced ZeRO stage, 0 to 3, of all parameters; only for training steps.
  std::optional<int> zeroStage;
  /// Devices of a node; 0: all. Where the data axes span nodes, training may
  /// store over those within a node alone.
  int64_t devicesPerNode = 0;
  /// When it is over, meshes that were not looked at only give a bound; the one
  /// at hand is finished, unless the search is stopped.
  double timeBudgetSeconds = 60;
  /// Largest table of the elimination: 2^24 costs are 128 MiB. A graph that
  /// needs larger ones is planned by relaxed elimination and local search.
  int64_t tableLimit = int64_t(1) << 24;
  /// Who waits for the search.
  SearchControl control;

  /// Nothing more is to be looked at.
  bool isOver(std::chrono::steady_clock::time_point deadline) const {
    return control.isStopped() || std::chrono::steady_clock::now() > deadline;
  }
};

struct PlanResult {
  std::optional<PlanningAnswer> answer;
  /// Of `answer`, where the search chose it (`findPlan`); else 0.
  int64_t microBatches = 0;
  PlanEvaluation evaluation;
  /// The seconds of the layouts of the answer as the search added them up: they
  /// must agree with `getLayoutSeconds`, which adds them up from the answer
  /// alone.
  double objectiveSeconds = 0;
  Certificate certificate;
  /// What every considered plan needs for certain: its parameters.
  int64_t leastBytes = std::numeric_limits<int64_t>::max();
  /// The smallest peak, by the evaluator, of the plans that were looked at.
  int64_t smallestBytes = std::numeric_limits<int64_t>::max();
  /// The least time of any plan whose parameters fit: a bound that does not
  /// depend on how the peak of memory is estimated.
  double boundWithoutLimitSeconds = std::numeric_limits<double>::infinity();
  /// Why meshes were refused.
  std::vector<std::string> refusals;
  /// Time was over, or the search stopped, before all was looked at that may
  /// have a plan.
  bool isCutShort = false;
};

/// Which tier of a request is too small for a plan.
std::optional<std::string> findSmallTier(const PlanRequest &request,
                                         const PlanEvaluation &evaluation);

/// The best plan over every mesh of data by tensor axes that the request
/// allows, and every layout per op and value of Candidates.h. Per mesh a cost
/// network is minimised exactly; where its best plan exceeds the memory limit,
/// a plan that fits is found by pricing memory, and the faster ones are visited
/// in ascending order of time until one fits or none is left.
PlanResult solve(const PlanningProblem &problem, const PlanRequest &request,
                 const PlanCosts &costs);

/// `solve`, and where memory decided over a training step: what is fastest with
/// more of it, with copies gathered again for the backward pass until it fits,
/// if that is better (S15). Within the time budget of the request.
PlanResult solveGatheringAgain(const PlanningProblem &problem,
                               const PlanRequest &request,
                               const PlanCosts &costs);

/// Where no other plan fits: the fastest that was found of those that cut the
/// model into stages, make activations again for the backward pass and have
/// values on other tiers, as far as the request leaves that open. They are not
/// compared with all others, so that `exact` is false; the lower bound is that
/// of all of them.
PlanResult findLastResort(const PlanningProblem &problem,
                          const PlanRequest &request, const PlanCosts &costs);

/// Where nothing else fits, `lastResorts` cut the model into stages, make
/// values again and have them on other tiers, as far as a request leaves that
/// open.
enum class SearchEffort { usual, lastResorts };

/// `solveGatheringAgain` or `findLastResort`.
PlanResult searchPlan(const PlanningProblem &problem,
                      const PlanRequest &request, const PlanCosts &costs,
                      SearchEffort effort);

/// Seconds that every plan takes that `searchPlan` could find: its ops alone. 0
/// where the time budget does not suffice to find that.
double getLeastSeconds(const PlanningProblem &problem,
                       const PlanRequest &request, const PlanCosts &costs,
                       SearchEffort effort);

/// The same as `solve` by trying every combination: the oracle of the tests.
/// Only for a few ops.
PlanResult solveByExhaustion(const PlanningProblem &problem,
                             const PlanRequest &request,
                             const PlanCosts &costs);

/// The meshes that the request allows, most data-parallel first. A context axis
/// that is not forced is considered where the batch has fewer samples than
/// there are ranks, and an expert axis (of the most ranks that experts allow)
/// where there are experts.
std::vector<Mesh> getMeshes(const PlanningProblem &problem,
                            const PlanRequest &request);

/// What is searched, in this order: every mesh with 1D tensor parallelism, then
/// every mesh with each cut of its tensor axes besides (and 1D over all of
/// them). A plan has algorithms of one cut and of 1D, unless nodes are forced
/// to algorithms of several: then it has all cuts for these. A forced tensor
/// kind is the only one.
std::vector<PlanSpace> getSpaces(const PlanningProblem &problem,
                                 const PlanRequest &request);

/// Into how many stages a model can be cut at most, whatever the layouts.
int64_t countMostStages(const PlanningProblem &problem);

/// The number of experts of the largest mixture, 1 without one.
int64_t getExpertCount(const PlanningProblem &problem);

/// True where some attention is over a sequence that context axes could split.
bool hasContext(const PlanningProblem &problem);

/// Sizes of context axes that are tried: what is forced, else 1 and, where the
/// batch has fewer samples than there are ranks or a node is forced to use
/// them, more; of the ranks of one position of the pipeline.
std::vector<int64_t> getContextSizes(const PlanningProblem &problem,
                                     const PlanRequest &request);

/// The assignments of every op that the request allows in a space: forced
/// algorithms and the ZeRO stage applied. Ops of one decision have equally
/// many, choice for choice. An op for which the forced algorithm is impossible
/// keeps all, unless it was forced by name; then `refusal` says so, and
/// likewise of parameters that the stage cannot spread.
std::vector<std::vector<FactorAssignment>>
getAllowedAssignments(const PlanningProblem &problem,
                      const PlanRequest &request, const PlanSpace &space,
                      std::optional<std::string> &refusal);

/// The layouts at rest that are considered for every value: as made, completed,
/// and as any op reads it; where that op is a product on a grid, also spread
/// over the axes of the grid that this lacks, and parameters spread over whole
/// grids (of a forced grid those alone). Inputs lie by `getLoadedSharding`.
/// What replaces a variable has the candidates of the variable, in their order.
/// In stage 3 parameters that are not trained are stored, too.
std::vector<std::vector<Sharding>> getRestCandidates(
    const PlanningProblem &problem, const PlanRequest &request,
    const PlanSpace &space,
    const std::vector<std::vector<FactorAssignment>> &assignments);

/// The ZeRO stage of a parameter, by what a plan does with it: 3, it is stored
/// at rest; 2, its gradients are stored while they are added up; 1, its update
/// is; 0. What was forced names it only where the plan leaves that open: with
/// one micro-batch 1 and 2 are the same plan, a parameter that is not trained
/// has no gradient for 0 to 2 to differ in, and a scalar has nothing to spread.
int getZeroStage(const PlanningProblem &problem, const PlanningAnswer &answer,
                 int parameter, std::optional<int> forced);

/// Says which trained parameter with dimensions a forced stage cannot spread:
/// no allowed assignment of its update, or of what adds up its gradients, is
/// stored.
std::optional<std::string>
findUnspreadParameter(const PlanningProblem &problem, int stage,
                      llvm::ArrayRef<std::vector<FactorAssignment>> allowed);

} // namespace parplan

#endif // PARPLAN_PLANNER_SOLVER_H
