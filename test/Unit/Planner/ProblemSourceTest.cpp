//===- ProblemSourceTest.cpp - What is said before there is a model -------===//

#include "Residual.h"

#include "lib/Planner/Joint/LeastSpace.h"
#include "lib/Planner/Joint/ProblemSource.h"

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
    steps.get = [](int64_t count) {
      return std::optional(
          Residual(
              {.blocks = 4, .microBatches = count, .samples = samples / count})
              .makeTraining());
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
      auto model = source.make(space, count);
      if (!model)
        continue;
      SCOPED_TRACE(source.getInfo(space).name + ", " + std::to_string(count) +
                   " micro-batches");
      std::vector<SearchUnit> units = model->getUnits();
      std::vector<SpaceModel *> before = {&ofAll, &own};
      for (SpaceModel *perhaps : {relaxed.get(), ofKnown.get()})
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
