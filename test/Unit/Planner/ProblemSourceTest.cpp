//===- ProblemSourceTest.cpp - What is said before there is a model -------===//

#include "Residual.h"

#include "lib/Planner/Evaluation/StepTime.h"
#include "lib/Planner/Joint/LeastSpace.h"
#include "lib/Planner/Joint/PeakMoments.h"
#include "lib/Planner/Joint/ProblemSource.h"
#include "lib/Planner/Joint/SpaceState.h"
#include "lib/Planner/Joint/StateChoice.h"

#include "llvm/ADT/Sequence.h"

#include <gtest/gtest.h>

#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t samples = 16;

/// Training on eight devices in any way.
class ProblemSourceTest : public testing::Test {
protected:
  ProblemSourceTest() {
    request.deviceCount = 8;
    steps.counts = {1, 2, 4};
    steps.get = [this](int64_t count) {
      shape.microBatches = count;
      shape.samples = samples / count;
      return std::optional(Residual(shape).makeTraining());
    };
  }

  /// Prices of each component, some of them none.
  Weights draw() {
    std::uniform_real_distribution<double> price(-0.5, 1);
    auto next = [&] { return std::max(0.0, price(random)); };
    Weights weights;
    for (double *each :
         {&weights.forward, &weights.inputGradient, &weights.weightGradient,
          &weights.meeting, &weights.ends})
      *each = next();
    constexpr double secondsPerByte = 1e-3;
    for (double *each :
         {&weights.permanentBytes, &weights.savedBytes, &weights.waitingBytes})
      *each = secondsPerByte * next();
    return weights;
  }

  ResidualShape shape;
  SimpleCosts costs;
  PlanRequest request;
  StepProblems steps;
  std::mt19937 random{3};
};

} // namespace

TEST_F(ProblemSourceTest, UnitsCostNoLessThanIsSaidBeforeTheyAreMade) {
  ProblemSource source(steps, request, costs, FindPlanOptions());
  int compared = 0;
  for (int space : llvm::seq(0, source.getSpaceCount()))
    for (int64_t count : source.getCounts()) {
      LeastSpace ofAll(source.getLeastOfAll(space, count));
      LeastSpace own(source.getLeast(space, count));
      auto relaxed = source.makeRelaxed(space, count, /*isOfKnown=*/false);
      auto ofKnown = source.makeRelaxed(space, count, /*isOfKnown=*/true);
      auto ofVariables = source.makeOfVariables(space, count);
      auto model = source.make(space, count);
      if (!model)
        continue;
      SCOPED_TRACE(source.getInfo(space).name + ", " + std::to_string(count) +
                   " micro-batches");
      std::vector<SearchUnit> units = model->getUnits();
      std::vector<SpaceModel *> before = {&ofAll, &own};
      for (SpaceModel *perhaps :
           {relaxed.get(), ofKnown.get(), ofVariables.get()})
        if (perhaps)
          before.push_back(perhaps);
      for (SpaceModel *least : before)
        for (auto [said, unit] : llvm::zip_equal(least->getUnits(), units))
          for (int mode : llvm::seq(0, unit.oracle->getModeCount())) {
            ModeSet only = ModeSet(1) << mode;
            Weights weights = draw();
            double cost = unit.oracle->getLeast(weights, only).value;
            EXPECT_LE(said.oracle->getLeast(weights, only).value,
                      cost * (1 + 1e-9) + 1e-12)
                << "mode " << mode;
            ++compared;
          }
    }
  EXPECT_GT(compared, 1000);
}

TEST_F(ProblemSourceTest, VariablesAloneTakeNoLongerWithinAnyMemory) {
  ProblemSource source(steps, request, costs, FindPlanOptions());
  int compared = 0, decidedByMemory = 0;
  for (int space : llvm::seq(0, source.getSpaceCount()))
    for (int64_t count : source.getCounts())
      for (ScheduleShape shape : source.getShapes(space)) {
        shape.microBatches = count;
        if (getRefusal(shape))
          continue;
        auto getBound = [&](std::unique_ptr<SpaceModel> model, double limit) {
          SpaceState state(std::move(model), limit, /*spareBytes=*/0,
                           source.getLeastMessageSeconds(space, count),
                           source.getInfo(space));
          return state.getMemoryBound(shape,
                                      std::numeric_limits<double>::infinity());
        };
        double last = 0;
        for (double limit : {1e9, 4096.0, 2048.0, 1024.0}) {
          auto ofVariables = source.makeOfVariables(space, count);
          auto model = source.make(space, count);
          if (!ofVariables || !model)
            continue;
          double bound = getBound(std::move(ofVariables), limit);
          EXPECT_LE(bound, getBound(std::move(model), limit) * (1 + 1e-9))
              << source.getInfo(space).name << ", " << count
              << " micro-batches, " << limit << " bytes";
          ++compared;
          decidedByMemory += last > 0 && bound > last;
          last = bound;
        }
      }
  EXPECT_GT(compared, 100);
  EXPECT_GT(decidedByMemory, 10);
}

TEST_F(ProblemSourceTest,
       NothingIsSaidOfVariablesWhereActivationsLookLikeThem) {
  steps.counts = {samples};
  ProblemSource source(steps, request, costs, FindPlanOptions());
  int looked = 0;
  for (int space : llvm::seq(0, source.getSpaceCount())) {
    EXPECT_EQ(source.makeOfVariables(space, samples), nullptr);
    looked += source.make(space, samples) != nullptr;
  }
  EXPECT_GT(looked, 0);
}

namespace {

/// A plan of a model that is best for some prices, as the evaluator sees it.
class DrawnPlan {
public:
  DrawnPlan(SpaceModel &model, const ScheduleShape &shape,
            const Weights &weights)
      : shape(shape) {
    std::vector<BlockOracle *> distinct;
    std::vector<int> types;
    UnitChain chain;
    for (const SearchUnit &unit : model.getUnits()) {
      if (!llvm::is_contained(distinct, unit.oracle))
        distinct.push_back(unit.oracle);
      auto type = static_cast<int>(llvm::find(distinct, unit.oracle) -
                                   distinct.begin());
      chain.add(type, unit.count, unit.isEnd);
      types.insert(types.end(), unit.count, type);
    }
    AskedOracles oracles(distinct, allModes);
    std::vector<Weights> ofUnits(types.size(), weights);
    ChainStates states =
        chooseStates(chain, oracles, ofUnits, ofUnits, /*isLimited=*/true)
            .front();
    for (size_t unit = 0; unit < types.size(); ++unit)
      plans.push_back(*oracles.getPlan(types[unit], weights, allModes,
                                       states.in[unit], states.out[unit]));
    plans = model.agree(std::move(plans), ofUnits);
    int64_t blocks = chain.getBlocksPerChunk(shape);
    std::vector<int64_t> counts(shape.positions, blocks / shape.positions);
    cuts = chain.getCuts(shape, counts);
    constexpr double noLimit = 1e18;
    judged = model.judge(plans, {shape, cuts}, noLimit);
  }

  /// Per stage.
  std::vector<CostVector> getCosts() const {
    std::vector<CostVector> costs(shape.getStageCount());
    for (int64_t stage = 0; stage < shape.getStageCount(); ++stage) {
      bool isLast = stage + 1 == shape.getStageCount();
      int end = isLast ? static_cast<int>(plans.size()) : cuts[stage + 1];
      for (int unit = cuts[stage]; unit < end; ++unit)
        costs[stage] += plans[unit].cost;
    }
    return costs;
  }

  ScheduleShape shape;
  std::vector<BlockPlan> plans;
  std::vector<int> cuts;
  JudgedPlan judged;
};

} // namespace

TEST_F(ProblemSourceTest, PositionsNeedNoLessThanTheirUnitsAtAnyMoment) {
  ProblemSource source(steps, request, costs, FindPlanOptions());
  int compared = 0;
  double closest = 0;
  for (int space : llvm::seq(0, source.getSpaceCount()))
    for (int64_t count : {2, 4})
      for (ScheduleKind kind :
           {ScheduleKind::oneForwardOneBackward, ScheduleKind::zbH1,
            ScheduleKind::zbH2, ScheduleKind::zbV}) {
        ScheduleShape schedule{kind, source.getInfo(space).positions, count,
                               std::max<int64_t>(1, getRequiredChunks(kind))};
        if (schedule.positions != 2)
          continue;
        auto model = source.make(space, count);
        if (!model)
          continue;
        SCOPED_TRACE(source.getInfo(space).name + ", " +
                     printScheduleName(schedule));
        DrawnPlan plan(*model, schedule, draw());
        ASSERT_FALSE(plan.judged.refusal) << *plan.judged.refusal;
        const PipelineChoice &pipeline = *plan.judged.answer.pipeline;
        std::vector<CostVector> ofStages = plan.getCosts();
        std::vector<Moment> moments = findPeakMoments(
            makeSchedule(schedule, pipeline.times, pipeline.latencies),
            ofStages);
        for (int64_t position = 0; position < schedule.positions; ++position) {
          double bytes = model->getFixedBytes();
          for (int64_t chunk = 0; chunk < schedule.chunks; ++chunk) {
            const CostVector &cost =
                ofStages[getStage(schedule, position, chunk)];
            bytes += cost.permanentBytes +
                     moments[position].inFlight[chunk] * cost.savedBytes +
                     moments[position].waiting[chunk] * cost.waitingBytes;
          }
          auto peak = static_cast<double>(
              plan.judged.evaluation.positionPeakBytes[position]);
          EXPECT_LE(bytes, peak) << "position " << position;
          closest = std::max(closest, bytes / peak);
          ++compared;
        }
        // The turn of a vee has none.
        for (double latency : pipeline.latencies) {
          EXPECT_TRUE(latency == 0 ||
                      latency * (1 + 1e-9) >=
                          source.getLeastMessageSeconds(space, count));
        }
      }
  EXPECT_GT(compared, 50);
  EXPECT_GT(closest, 0.7);
}

TEST_F(ProblemSourceTest, PositionsMeetInTheSchedulesThatSaySo) {
  int times[2] = {0, 0};
  for (auto [hasNorm, isTied] :
       {std::pair(true, false), {true, true}, {false, true}, {false, false}}) {
    shape.hasNorm = hasNorm;
    shape.isTiedAtEnds = isTied;
    ProblemSource source(steps, request, costs, FindPlanOptions());
    for (int space : llvm::seq(0, source.getSpaceCount()))
      for (ScheduleKind kind :
           {ScheduleKind::oneForwardOneBackward, ScheduleKind::zbV}) {
        constexpr int64_t count = 4;
        SpaceInfo info = source.getInfo(space);
        ScheduleShape schedule{kind, info.positions, count,
                               std::max<int64_t>(1, getRequiredChunks(kind))};
        if (schedule.positions != 2)
          continue;
        auto model = source.make(space, count);
        ASSERT_TRUE(model);
        DrawnPlan plan(*model, schedule, draw());
        Meeting meeting = getMeeting(info.meeting, schedule);
        ASSERT_NE(meeting, Meeting::bySomeCuts);
        bool meets = meeting == Meeting::always;
        EXPECT_EQ(
            getStepWork(*steps.get(count)->get(), plan.judged.answer, costs)
                .meets,
            meets)
            << info.name << ", " << printScheduleName(schedule);
        ++times[meets ? 1 : 0];
      }
  }
  EXPECT_GT(times[0], 0);
  EXPECT_GT(times[1], 0);
}
