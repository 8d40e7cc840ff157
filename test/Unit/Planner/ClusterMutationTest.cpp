//===- ClusterMutationTest.cpp - Clusters that make no sense --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"
#include "test/Unit/Support/MutateJson.h"

#include "parplan/Cluster/Presets.h"
#include "parplan/Planner/ClusterCosts.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace parplan;
using namespace parplan::test;

namespace {

/// The seconds of a plan on a cluster; 0 without one.
double plan(const PlanningProblem &problem, const Cluster &cluster,
            Precision precision, int64_t positions) {
  CostModel model(cluster, precision);
  ClusterCosts costs(model);
  PlanRequest request;
  request.deviceCount = cluster.deviceCount;
  request.memoryLimitBytes = cluster.getDevice().memoryBytes;
  request.devicesPerNode = cluster.getDevicesPerNode();
  request.pipelineSize = positions;
  PlanResult result = solve(problem, request, costs);
  return result.answer ? result.evaluation.stepTimeSeconds : 0;
}

TEST(ClusterMutations, AreRefusedOrPlannedOn) {
  PlanningProblem problem = makeMlp(/*batch=*/8, /*width=*/16, /*hidden=*/32);
  constexpr unsigned count = 1000;
  unsigned accepted = 0;
  const std::vector<ClusterDescription> &presets = getPresets();
  std::vector<JsonMutator> mutators;
  // Others with --gtest_shuffle --gtest_random_seed=N.
  auto seed =
      static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  for (const ClusterDescription &preset : presets)
    mutators.emplace_back(toJson(preset), seed++);
  for (unsigned number = 0; number < count; ++number) {
    std::string text = mutators[number % mutators.size()].getNext();
    SCOPED_TRACE(text.substr(0, 5000));
    DiagnosticEngine engine;
    std::optional<ClusterDescription> description =
        parseCluster(text, "cluster.json", engine);
    EXPECT_NE(description.has_value(), engine.hasErrors());
    if (!description)
      continue;
    ++accepted;
    auto precision = static_cast<Precision>(number % 3);
    for (int64_t gpus : {4, 16})
      if (auto cluster = makeCluster(*description, gpus, engine)) {
        double seconds = plan(problem, *cluster, precision, gpus / 4);
        EXPECT_TRUE(std::isfinite(seconds) && seconds >= 0) << seconds;
      }
  }
  // Some faults are none, so that both roads are taken.
  EXPECT_GT(accepted, count / 20);
  EXPECT_LT(accepted, count / 2);
}

} // namespace
