//===- UniformPlans.cpp - The best plan with equal layers -----------------===//
//
// The search is that of all plans, whose bounds hold for these too. Of each
// configuration that it plans it is given the best uniform plan.
//
//===----------------------------------------------------------------------===//

#include "benchmarks/UniformPlans.h"

#include "lib/Planner/Joint/ProblemSource.h"
#include "parplan/Planner/ScheduleBounds.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace parplan;

static constexpr double never = std::numeric_limits<double>::infinity();

namespace {

/// What the plans of all configurations share.
struct Best {
  double seconds = never;
};

class UniformModel : public SpaceModel {
public:
  UniformModel(std::unique_ptr<SpaceModel> all, ModeSet modes,
               int64_t microBatches, Best &best)
      : all(std::move(all)), modes(modes), microBatches(microBatches),
        best(best) {}

  std::vector<SearchUnit> getUnits() override { return all->getUnits(); }
  double getFixedBytes() const override { return all->getFixedBytes(); }
  double getLatency(int instance, int state) const override {
    return all->getLatency(instance, state);
  }
  void forget() override { all->forget(); }

  /// The best uniform plan of the schedule, whatever is given.
  JudgedPlan judge(const std::vector<BlockPlan> &, const StageChoice &stages,
                   double limitBytes) override {
    auto [it, isNew] =
        found.try_emplace({stages.shape.kind, stages.shape.chunks, limitBytes});
    if (isNew)
      it->second = find(stages.shape, limitBytes);
    return it->second;
  }

private:
  /// One plan per unit instance.
  struct Draft {
    std::vector<BlockPlan> plans;
    /// Of the position that works longest, and of that with most bytes.
    double seconds = 0, bytes = 0;
  };

  JudgedPlan find(const ScheduleShape &shape, double limitBytes) {
    StageChoice stages{shape, getEqualCuts(shape)};
    JudgedPlan least;
    least.refusal = "no uniform plan";
    for (int mode = 0; mode < unitModeCount; ++mode)
      if (modes >> mode & 1)
        addMode(ModeSet(1) << mode, stages, limitBytes, least);
    return least;
  }

  /// Bytes cost more until the plan fits.
  void addMode(ModeSet mode, const StageChoice &stages, double limitBytes,
               JudgedPlan &least) {
    double budget = limitBytes, price = 0;
    for (double share : {0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0}) {
      std::optional<Draft> draft = draw(mode, stages, price * share);
      if (!draft || draft->seconds >= best.seconds)
        return;
      price = draft->seconds / limitBytes;
      if (draft->bytes > budget)
        continue;
      JudgedPlan plan = all->judge(draft->plans, stages, limitBytes);
      if (plan.refusal)
        return;
      double over = static_cast<double>(plan.excessBytes);
      if (over <= 0)
        best.seconds = std::min(best.seconds, plan.evaluation.stepTimeSeconds);
      if (isBetter(plan, least))
        least = std::move(plan);
      if (over <= 0)
        return;
      budget = draft->bytes - over;
    }
  }

  static bool isBetter(const JudgedPlan &plan, const JudgedPlan &other) {
    auto getRank = [](const JudgedPlan &judged) {
      return std::tuple(judged.refusal.has_value(),
                        std::max<int64_t>(judged.excessBytes, 0),
                        judged.evaluation.stepTimeSeconds);
    };
    return getRank(plan) < getRank(other);
  }

  int64_t countLayers() {
    int64_t layers = 0;
    for (const SearchUnit &unit : getUnits())
      layers += unit.isEnd ? 0 : unit.count;
    return layers;
  }

  std::vector<int> getEqualCuts(const ScheduleShape &shape) {
    int first = getUnits().front().isEnd ? 1 : 0;
    std::vector<int> cuts = {0};
    for (int64_t stage = 1; stage < shape.getStageCount(); ++stage)
      cuts.push_back(static_cast<int>(first + stage * countLayers() /
                                                  shape.getStageCount()));
    return cuts;
  }

  /// The cheapest plan of the one mode in which all boundaries between equal
  /// layers have one state; what is at the ends keeps what it likes.
  std::optional<Draft> draw(ModeSet mode, const StageChoice &stages,
                            double bytePrice) {
    Weights weights;
    weights.forward = weights.inputGradient = weights.weightGradient =
        static_cast<double>(microBatches);
    weights.permanentBytes = bytePrice;
    weights.savedBytes =
        bytePrice *
        static_cast<double>(std::min(microBatches, stages.shape.positions));
    std::vector<SearchUnit> units = getUnits();
    std::vector<double> costs(units.front().oracle->getInCount(), 0);
    std::vector<std::vector<int>> from;
    for (const SearchUnit &unit : units) {
      ModeSet own = unit.isEnd ? modes : mode;
      BoundaryMatrix matrix = unit.oracle->minimise(weights, own);
      std::vector<double> next(matrix.outCount, never);
      std::vector<int> &before = from.emplace_back(matrix.outCount, -1);
      for (int in = 0; in < matrix.inCount; ++in)
        for (int out = 0; out < matrix.outCount; ++out) {
          double cost =
              costs[in] + static_cast<double>(unit.count) * matrix.get(in, out);
          if ((unit.count == 1 || in == out) && cost < next[out]) {
            next[out] = cost;
            before[out] = in;
          }
        }
      costs = std::move(next);
    }
    auto least = std::min_element(costs.begin(), costs.end());
    if (*least == never)
      return std::nullopt;
    auto state = static_cast<int>(least - costs.begin());
    Draft draft;
    for (size_t index = units.size(); index-- > 0;) {
      const SearchUnit &unit = units[index];
      int in = from[index][state];
      std::optional<BlockPlan> plan =
          unit.oracle->getPlan(weights, unit.isEnd ? modes : mode, in, state);
      if (!plan)
        return std::nullopt;
      draft.plans.insert(draft.plans.begin(), unit.count, *plan);
      state = in;
    }
    addSums(stages, draft);
    return draft;
  }

  /// A position works on all micro-batches, and holds some of them.
  void addSums(const StageChoice &stages, Draft &draft) const {
    const ScheduleShape &shape = stages.shape;
    std::vector<double> seconds(shape.positions, 0), bytes = seconds;
    for (int64_t stage = 0; stage < shape.getStageCount(); ++stage) {
      size_t end = stage + 1 < shape.getStageCount() ? stages.cuts[stage + 1]
                                                     : draft.plans.size();
      int64_t position = getPosition(shape, stage);
      auto inFlight = static_cast<double>(
          getLeastInFlight(shape, position)[getChunk(shape, stage)]);
      for (size_t unit = stages.cuts[stage]; unit < end; ++unit) {
        const CostVector &cost = draft.plans[unit].cost;
        seconds[position] +=
            static_cast<double>(microBatches) *
            (cost.forward + cost.inputGradient + cost.weightGradient);
        bytes[position] += cost.permanentBytes + inFlight * cost.savedBytes;
      }
    }
    draft.seconds = *std::max_element(seconds.begin(), seconds.end());
    draft.bytes = *std::max_element(bytes.begin(), bytes.end());
  }

  std::unique_ptr<SpaceModel> all;
  ModeSet modes;
  int64_t microBatches;
  Best &best;
  std::map<std::tuple<ScheduleKind, int64_t, double>, JudgedPlan> found;
};

/// Of all spaces the uniform plans.
class UniformSource : public SpaceSource {
public:
  explicit UniformSource(ProblemSource &all) : all(all) {}

  std::vector<int64_t> getCounts() const override { return all.getCounts(); }
  int getSpaceCount() const override { return all.getSpaceCount(); }
  SpaceInfo getInfo(int space) const override { return all.getInfo(space); }
  LeastModel getLeastOfAll(int space, int64_t count) override {
    return all.getLeastOfAll(space, count);
  }
  LeastModel getLeast(int space, int64_t count) override {
    return all.getLeast(space, count);
  }
  double getLeastShare(int space, int64_t fewer, int64_t count) override {
    return all.getLeastShare(space, fewer, count);
  }
  double getKeptBytes(int space, int64_t count) override {
    return all.getKeptBytes(space, count);
  }

  /// Those whose stages can have equally many layers.
  std::vector<ScheduleShape> getShapes(int space) const override {
    std::vector<ScheduleShape> shapes = all.getShapes(space);
    if (all.getCounts().empty())
      return shapes;
    int64_t layers = 0;
    for (const LeastUnit &unit :
         all.getLeastOfAll(space, all.getCounts().front()).units)
      layers += unit.isEnd ? 0 : unit.count;
    llvm::erase_if(shapes, [&](const ScheduleShape &shape) {
      return layers % shape.getStageCount() != 0;
    });
    return shapes;
  }

  std::unique_ptr<SpaceModel> make(int space, int64_t count) override {
    std::unique_ptr<SpaceModel> model = all.make(space, count);
    if (!model)
      return nullptr;
    return std::make_unique<UniformModel>(std::move(model),
                                          getInfo(space).modes, count, best);
  }

private:
  ProblemSource &all;
  Best best;
};

} // namespace

FoundPlan parplan::findUniformPlan(const StepProblems &problems,
                                   const PlanRequest &request,
                                   const PlanCosts &costs,
                                   const FindPlanOptions &options) {
  ProblemSource all(problems, request, costs, options);
  UniformSource source(all);
  SpaceSearchOptions search;
  search.memoryLimitBytes = static_cast<double>(request.memoryLimitBytes);
  search.timeBudgetSeconds = request.timeBudgetSeconds;
  SpaceSearchResult found = searchSpaces(source, search);

  FoundPlan plan;
  plan.boundSource = found.boundSource;
  plan.evaluations = found.evaluations;
  plan.judgedPlans = found.plans;
  plan.oracleCalls = found.oracleCalls;
  plan.spaces = source.getSpaceCount();
  plan.result.certificate = found.certificate;
  plan.result.isCutShort = found.isCutShort;
  plan.result.refusals = found.refusals;
  if (found.plan) {
    plan.result.answer = std::move(found.plan->answer);
    plan.result.evaluation = found.plan->evaluation;
    plan.result.microBatches = found.configuration.microBatches;
  }
  return plan;
}
