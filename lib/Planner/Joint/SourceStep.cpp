//===- SourceStep.cpp - What a search is told of one step -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "SourceStep.h"

#include "parplan/Planner/SearchSpace.h"
#include "parplan/Support/Check.h"

#include <algorithm>
#include <limits>

using namespace parplan;

namespace {

/// What ops take at least, on whatever parts of devices, and nothing else.
class LeastCosts : public PlanCosts {
public:
  explicit LeastCosts(const PlanCosts &costs) : costs(costs) {}

  double getOpSeconds(const OpCost &cost) const override {
    return costs.getLeastOpSeconds(cost);
  }
  double getCollectiveSeconds(CollectiveKind, const Mesh &, llvm::ArrayRef<int>,
                              int64_t) const override {
    return 0;
  }
  double getCopySeconds(int64_t /*bytes*/) const override { return 0; }
  double getHostOpSeconds(const OpCost &cost) const override {
    return costs.getHostOpSeconds(cost);
  }
  bool recomputesWholeBlocks() const override {
    return costs.recomputesWholeBlocks();
  }

private:
  const PlanCosts &costs;
};

} // namespace

SourceStep::SourceStep(const StepProblem &problem, const UnitLine *line,
                       const PlanRequest &request, const PlanCosts &costs)
    : microBatches(problem.getMicroBatches()), units(problem, line),
      variableBytes(static_cast<double>(problem.getAlike().getVariableBytes())),
      fixedBytes(static_cast<double>(problem.getAlike().fixedBytes)),
      costs(costs) {
  addRuns(request);
  findBatch();
  addBytes();
}

PlanJudgement SourceStep::timeAndJudge(PlanningAnswer &answer,
                                       int64_t limitBytes) {
  std::lock_guard guard(evaluating);
  if (!evaluator)
    evaluator.emplace(units.getProblem(), costs);
  return evaluator->timeAndJudge(answer, limitBytes);
}

/// What a unit takes at least in a mode, by its seconds and by its bytes: on
/// one device nothing else is open than where updates run, and that has fewer
/// bytes for more seconds.
static std::optional<CostVector> getLeastOfMode(BlockOracle &oracle,
                                                ModeSet mode) {
  auto plan = oracle.getPlan({}, mode, 0, 0);
  if (!plan)
    return std::nullopt;
  Weights ofBytes;
  ofBytes.permanentBytes = 1; // More than any second is worth.
  auto smallest = oracle.getPlan(ofBytes, mode, 0, 0);
  PARPLAN_CHECK(smallest, "prices forbid nothing");
  CostVector cost = plan->cost;
  cost.permanentBytes = smallest->cost.permanentBytes;
  return cost;
}

/// On one device no layouts are open. A sequence that goes round ranks has no
/// such plan: nothing is known of its costs.
void SourceStep::addRuns(const PlanRequest &request) {
  PlanRequest alone;
  alone.recompute = request.recompute;
  alone.updatesMayMove = request.updatesMayMove;
  const PlanningProblem &sample = units.getSample();
  for (const PlanningOp &op : sample.ops)
    alone.deviceCount = std::max(alone.deviceCount, op.zigzag);
  bool isRound = alone.deviceCount > 1;
  if (isRound)
    alone.contextSize = alone.deviceCount;
  std::vector<PlanSpace> spaces = getSpaces(sample, alone);
  PARPLAN_CHECK(spaces.size() == 1, "the fewest devices have one mesh, not ",
                spaces.size());
  LeastCosts least(costs);
  UnitOracles oracles(units, alone, spaces.front(), least);
  refusal = oracles.getRefusal();
  if (refusal)
    return;
  for (const SearchUnit &unit : oracles.getUnits()) {
    SpaceSource::LeastUnit &run = runs.emplace_back();
    run.count = unit.count;
    run.isEnd = unit.isEnd;
    for (int mode = 0; mode < unit.oracle->getModeCount(); ++mode) {
      ModeSet only = ModeSet(1) << mode;
      if (isRound)
        run.modes.push_back({mode, {}});
      else if (unit.oracle->minimise({}, only).get(0, 0) !=
               BoundaryMatrix::impossible)
        if (auto cost = getLeastOfMode(*unit.oracle, only))
          run.modes.push_back({mode, *cost});
    }
  }
}

void SourceStep::addBytes() {
  const PlanningProblem &sample = units.getSample();
  for (auto [op, count] : llvm::zip_equal(sample.ops, units.getSampleCounts()))
    if (op.role == OpRole::forward && op.perMicroBatch)
      for (int result : op.results)
        activationBytes +=
            static_cast<double>(count * sample.values[result].getWholeBytes());
}

/// The least number of samples that an op of the forward pass has. Of
/// micro-batches in which none has any there is one sample in each.
void SourceStep::findBatch() {
  constexpr int64_t any = std::numeric_limits<int64_t>::max();
  batch = any;
  for (const PlanningOp &op : units.getSample().ops)
    if (op.role == OpRole::forward && op.batchFactor >= 0)
      batch = std::min(batch, op.rule.factors[op.batchFactor].size);
  if (batch == any && microBatches > 1)
    batch = 1;
}
