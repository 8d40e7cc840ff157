//===- ForceModel.cpp - What a model cannot be forced to ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/ForceRules.h"

#include "lib/Driver/NearestSizes.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Planner/Stages.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;

namespace {

class ModelRules {
public:
  ModelRules(const ForceOptions &force, int64_t gpus,
             const PlanningProblem &problem,
             const std::optional<std::string> &loopObstacle,
             const std::string &modelPath, DiagnosticEngine &engine)
      : force(force), gpus(gpus), problem(problem), loopObstacle(loopObstacle),
        modelPath(modelPath), engine(engine) {}

  void check() {
    bool hasSequence =
        findLargest([](const PlanningOp &op) { return op.sequenceFactor; }) > 1;
    length = findLargest([](const PlanningOp &op) {
      return op.keyFactor >= 0 ? op.sequenceFactor : -1;
    });
    int64_t count = getExpertCount(problem);
    experts = count > 1 ? count : 0;
    checkShared("cp", force.contextSize, length,
                hasSequence ? "no attention over its sequence"
                            : "no sequence: no input is [batch, sequence] of "
                              "integers or [batch, sequence, width]",
                "positions of a sequence");
    checkShared("ep", force.expertSize, experts, "no experts", "experts");
    checkStages();
    if (force.sequenceParallel.value_or(false) && !hasSequence)
      refuse().help("try sp=off")
          << "--force: sp=on: the model has no sequence to spread between "
             "products";
    for (const ForcedAlgorithm &node : force.nodes)
      checkNode(node);
  }

private:
  /// The largest size of a factor over the ops that have it; 0 without one.
  template <typename GetFactor> int64_t findLargest(GetFactor getFactor) const {
    int64_t size = 0;
    for (const PlanningOp &op : problem.ops)
      if (int factor = getFactor(op); factor >= 0)
        size = std::max(size, op.rule.factors[factor].size);
    return size;
  }

  DiagnosticBuilder refuse() {
    return engine.error(codes::impossibleForce, Location::inFile(modelPath));
  }

  /// Says what kept a loop from being experts.
  void noteLoop(DiagnosticBuilder &error) const {
    if (loopObstacle)
      error.note(*loopObstacle);
  }

  /// The same number of ranks as replicas, which every model can have.
  std::string asReplicas(int64_t ranks) const {
    return "dp=" + std::to_string(force.dataSize.value_or(1) * ranks);
  }

  /// Ranks that share what the model has `available` of.
  void checkShared(const std::string &key, std::optional<int64_t> ranks,
                   int64_t available, const std::string &lack,
                   const std::string &what) {
    if (ranks.value_or(1) <= std::max<int64_t>(available, 1))
      return;
    std::vector<std::string> requests;
    int64_t fewer =
        getNearestDivisors(std::max<int64_t>(available, 1), *ranks).front();
    if (fewer > 1) {
      std::string request = key + "=" + std::to_string(fewer);
      if (fewer < *ranks)
        request += "," + asReplicas(*ranks / fewer);
      requests.push_back(request);
    }
    requests.push_back(asReplicas(*ranks) + " in place of " + key + "=" +
                       std::to_string(*ranks));
    DiagnosticBuilder error = refuse();
    if (key == "ep")
      noteLoop(error);
    error << "--force: " << key << "=" << *ranks << ": the model has ";
    if (available == 0)
      error << lack;
    else
      error << available << " " << what << " for " << *ranks << " ranks";
    error.help(adviseRequests(requests));
  }

  void checkStages() {
    int64_t positions = force.pipelineSize.value_or(1);
    if (positions == 1)
      return;
    int64_t available = countMostStages(problem);
    int64_t chunks =
        force.schedule ? std::max<int64_t>(force.schedule->chunks, 1) : 1;
    if (positions * chunks <= available)
      return;
    std::string entry = "pp=" + std::to_string(positions);
    std::vector<std::string> requests;
    if (chunks > 1) {
      entry += ",schedule=" +
               printScheduleName(force.schedule->kind, force.schedule->chunks);
      if (force.schedule->kind == ScheduleKind::interleaved &&
          available / positions > 1)
        requests.push_back("schedule=" +
                           printScheduleName(ScheduleKind::interleaved,
                                             available / positions));
      else if (available >= positions)
        requests.push_back("schedule=1f1b");
    }
    int64_t fewer = available / chunks;
    while (fewer > 1 && (gpus % fewer != 0 || positions % fewer != 0))
      --fewer;
    if (fewer > 1)
      requests.push_back("pp=" + std::to_string(fewer) + "," +
                         asReplicas(positions / fewer));
    if (requests.empty())
      requests.push_back("pp=1," + asReplicas(positions));
    refuse().help(adviseRequests(requests))
        << "--force: " << entry << ": the model has " << available
        << " operators for " << positions * chunks << " stages";
  }

  /// Heads of queries of an attention.
  static int64_t getHeadCount(const PlanningOp &op) {
    for (const DimFactors &dim : op.rule.operands.front())
      if (llvm::is_contained(dim, op.headFactor)) {
        int64_t heads = 1;
        for (int factor : dim)
          heads *= op.rule.factors[factor].size;
        return heads;
      }
    return 1;
  }

  void checkNode(const ForcedAlgorithm &node) {
    bool isContext = node.algorithm == Algorithm::ring ||
                     node.algorithm == Algorithm::allToAll ||
                     node.algorithm == Algorithm::gather;
    bool isExpert = node.algorithm == Algorithm::expert;
    if (!isContext && !isExpert)
      return;
    std::string entry = "node:" + quoteName(node.nodeGlob) + ":" +
                        stringifyAlgorithm(node.algorithm).str();
    std::string advice = "try node:" + quoteName(node.nodeGlob);
    if ((isContext ? length : experts) <= 1) {
      DiagnosticBuilder error = refuse();
      error.help(advice + (isContext ? ":local" : ":column"))
          << "--force: " << entry << ": the model has no "
          << (isContext ? "attention over a sequence" : "experts");
      if (isExpert)
        noteLoop(error);
      return;
    }
    int64_t ranks = (isContext ? force.contextSize : force.expertSize)
                        .value_or(gpus / getOtherRanks());
    if (ranks == 1) {
      refuse().help(gpus == 1 ? std::string("try --gpus 2")
                              : std::string(isContext ? "try cp=" : "try ep=") +
                                    std::to_string(getSmallestRanks()))
          << "--force: " << entry << " needs "
          << (isContext ? "context" : "expert") << " ranks, and there are none";
      return;
    }
    if (node.algorithm == Algorithm::allToAll && force.contextSize)
      checkHeads(node, entry, ranks);
  }

  /// The product of the sizes that are given.
  int64_t getOtherRanks() const {
    int64_t ranks = force.dataSize.value_or(1) * force.tensorSize.value_or(1) *
                    force.contextSize.value_or(1) *
                    force.expertSize.value_or(1) *
                    force.pipelineSize.value_or(1);
    return force.grid ? ranks * force.grid->getRankCount() : ranks;
  }

  /// The smallest size above one that divides the devices.
  int64_t getSmallestRanks() const {
    int64_t size = 2;
    while (gpus % size != 0)
      ++size;
    return size;
  }

  void checkHeads(const ForcedAlgorithm &node, const std::string &entry,
                  int64_t ranks) {
    for (const PlanningOp &op : problem.ops) {
      if (op.headFactor < 0 || !op.isLeader ||
          !matchesGlob(node.nodeGlob, op.node) || getHeadCount(op) >= ranks)
        continue;
      int64_t heads = getHeadCount(op);
      std::vector<std::string> requests;
      int64_t fewer = getNearestDivisors(heads, ranks).front();
      if (fewer > 1)
        requests.push_back("cp=" + std::to_string(fewer) + "," +
                           asReplicas(ranks / fewer));
      requests.push_back("node:" + quoteName(node.nodeGlob) + ":ring");
      refuse().help(adviseRequests(requests))
          << "--force: " << entry << ": node " << quoteName(op.node) << " has "
          << heads << " heads for cp=" << ranks << " ranks";
      return;
    }
  }

  const ForceOptions &force;
  int64_t gpus;
  const PlanningProblem &problem;
  const std::optional<std::string> &loopObstacle;
  const std::string &modelPath;
  DiagnosticEngine &engine;
  /// Positions of the longest sequence that is attended to, and experts of the
  /// largest mixture; 0 without one.
  int64_t length = 0, experts = 0;
};

} // namespace

bool parplan::checkForceOnModel(const ForceOptions &force, int64_t gpus,
                                const PlanningProblem &problem,
                                const std::optional<std::string> &loopObstacle,
                                const std::string &modelPath,
                                DiagnosticEngine &engine) {
  size_t before = engine.getErrorCount();
  ModelRules(force, gpus, problem, loopObstacle, modelPath, engine).check();
  return engine.getErrorCount() == before;
}
