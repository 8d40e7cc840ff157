//===- ReplicaModelsTest.cpp - What one of several replicas costs ---------===//

#include "Residual.h"

#include "lib/Planner/Joint/ReplicaModels.h"

#include <gtest/gtest.h>

#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t samples = 8;

/// A model's steps on meshes of some data and tensor ranks, with their
/// replicas.
class Replicas {
public:
  explicit Replicas(const PlanCosts &costs)
      : costs(costs), meshes(costs), models(costs, meshes) {}

  const SourceStep &getStep(int64_t count) {
    auto &step = steps[count];
    if (!step) {
      Residual model(
          {.blocks = 3, .microBatches = count, .samples = samples / count});
      step =
          std::make_unique<SourceStep>(model.makeTraining(),
                                       /*line=*/nullptr, PlanRequest{}, costs);
    }
    return *step;
  }

  /// The units of a step; of those behind a replica, its bounds. Null: none.
  std::unique_ptr<SpaceModel> getBounds(int64_t count, int64_t data,
                                        int64_t tensor, bool isOfKnown) {
    PlanRequest request;
    request.deviceCount = data * tensor;
    return models.make(getStep(count), getStep(count * data), request,
                       {makeMesh(data, tensor), {}}, isOfKnown);
  }

  UnitOracles getOracles(int64_t count, int64_t data, int64_t tensor) {
    PlanRequest request;
    request.deviceCount = data * tensor;
    return UnitOracles(getStep(count).units, request,
                       {makeMesh(data, tensor), {}}, costs);
  }

private:
  const PlanCosts &costs;
  KnownMeshes meshes;
  ReplicaModels models;
  std::map<int64_t, std::unique_ptr<SourceStep>> steps;
};

Weights makeWeights(std::mt19937 &random) {
  std::uniform_real_distribution<double> draw(0, 1);
  Weights weights;
  for (double *weight :
       {&weights.forward, &weights.inputGradient, &weights.weightGradient,
        &weights.meeting, &weights.ends})
    *weight = draw(random);
  weights.permanentBytes = weights.savedBytes = draw(random) / 1e6;
  return weights;
}

/// Unit by unit no bound is above the least cost. True if one is close to it.
bool areBounds(SpaceModel &bounds, UnitOracles &oracles) {
  std::mt19937 random(1);
  std::vector<SearchUnit> relaxed = bounds.getUnits(),
                          units = oracles.getUnits();
  EXPECT_EQ(relaxed.size(), units.size());
  bool isClose = false;
  for (size_t unit = 0; unit < units.size(); ++unit) {
    EXPECT_EQ(relaxed[unit].count, units[unit].count);
    for (int time = 0; time < 8; ++time) {
      Weights weights = makeWeights(random);
      double bound = relaxed[unit].oracle->getLeast(weights, allModes).value;
      double least = units[unit].oracle->getLeast(weights, allModes).value;
      EXPECT_LE(bound, least * (1 + 1e-9)) << "unit " << unit;
      isClose |= bound > 0.5 * least;
    }
  }
  return isClose;
}

constexpr std::pair<int64_t, int64_t> dataAndTensor[] = {
    {2, 1}, {2, 2}, {1, 2}, {2, 4}, {4, 1}};

TEST(ReplicaModels, BoundUnitsOfEveryMesh) {
  SimpleCosts costs;
  Replicas replicas(costs);
  for (auto [data, tensor] : dataAndTensor)
    for (int64_t count = 1; count * data < samples; count *= 2) {
      SCOPED_TRACE(std::to_string(data) + " x " + std::to_string(tensor) +
                   ", " + std::to_string(count) + " micro-batches");
      auto bounds =
          replicas.getBounds(count, data, tensor, /*isOfKnown=*/false);
      ASSERT_TRUE(bounds);
      UnitOracles oracles = replicas.getOracles(count, data, tensor);
      EXPECT_TRUE(areBounds(*bounds, oracles));
    }
}

TEST(ReplicaModels, FollowFromLargerOnesThatAreKnown) {
  SimpleCosts costs;
  Replicas replicas(costs);
  EXPECT_FALSE(replicas.getBounds(2, 2, 2, /*isOfKnown=*/true));
  ASSERT_TRUE(replicas.getBounds(2, 1, 2, /*isOfKnown=*/false));
  auto bounds = replicas.getBounds(2, 2, 2, /*isOfKnown=*/true);
  ASSERT_TRUE(bounds);
  UnitOracles oracles = replicas.getOracles(2, 2, 2);
  EXPECT_TRUE(areBounds(*bounds, oracles));
}

TEST(ReplicaModels, FollowFromNoMoreThanOpsTakeInParts) {
  for (double mostFlops : {1e3, 4e3, 16e3, 64e3}) {
    FasterInParts costs(mostFlops);
    Replicas replicas(costs);
    ASSERT_TRUE(replicas.getBounds(2, 1, 2, /*isOfKnown=*/false));
    auto bounds = replicas.getBounds(2, 2, 2, /*isOfKnown=*/true);
    ASSERT_TRUE(bounds);
    UnitOracles oracles = replicas.getOracles(2, 2, 2);
    areBounds(*bounds, oracles);
  }
}

TEST(ReplicaModels, AreOfDataAndTensorAxesAlone) {
  EXPECT_TRUE(ReplicaModels::isPossible(makeMesh(4, 2)));
  MeshSizes sizes;
  sizes.data = sizes.expert = 2;
  EXPECT_FALSE(ReplicaModels::isPossible(makeMesh(sizes)));
}

} // namespace
