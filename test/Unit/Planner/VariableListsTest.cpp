//===- VariableListsTest.cpp - Meshes that are one to variables -----------===//

#include "Residual.h"

#include "lib/Planner/Units/JoinedMesh.h"

#include "parplan/Cluster/Presets.h"
#include "parplan/Planner/Candidates.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Folding.h"
#include "parplan/Planner/Layouts.h"
#include "parplan/Planner/UnitOracles.h"

#include <gtest/gtest.h>

#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

Mesh makeContextMesh(int64_t data, int64_t innerData, int64_t context,
                     int64_t tensor) {
  MeshSizes sizes;
  sizes.data = data;
  sizes.innerData = innerData;
  sizes.context = context;
  sizes.tensor = {tensor};
  return makeMesh(sizes);
}

/// The oracles of a training step on a mesh with data and context axes.
class OnMesh {
public:
  OnMesh(int64_t data, int64_t context, int64_t microBatches,
         std::shared_ptr<MeshKnowledge> joined, const PlanCosts &costs)
      : problem(makeStep(microBatches)),
        model(problem, /*line=*/nullptr), space{makeContextMesh(data, 1,
                                                                context, 2),
                                                {}} {
    request.deviceCount = space.mesh.getRankCount();
    oracles.emplace(model, request, space, costs, nullptr, std::move(joined));
    EXPECT_EQ(oracles->getRefusal(), std::nullopt);
  }

  std::vector<BlockOracle *> getVariables() {
    return get(UnitScope::variables);
  }
  std::vector<BlockOracle *> get(UnitScope scope) {
    std::vector<BlockOracle *> list;
    for (const SearchUnit &unit : oracles->getUnits(scope))
      list.push_back(unit.oracle);
    return list;
  }

private:
  static PlanningProblem makeStep(int64_t microBatches) {
    ResidualShape shape;
    shape.microBatches = microBatches;
    shape.samples = 32 / microBatches;
    return Residual(shape).makeTraining();
  }

  PlanningProblem problem;
  UnitModel model;
  PlanSpace space;
  PlanRequest request;
  std::optional<UnitOracles> oracles;
};

TEST(JoinedMeshTest, DataAndContextAxesAreOneButTheOuterOfTwoDataAxes) {
  EXPECT_EQ(joinReplicaAxes(makeContextMesh(4, 1, 4, 2)), makeMesh(16, 2));
  EXPECT_EQ(joinReplicaAxes(makeContextMesh(4, 2, 4, 2)), makeMesh(16, 2, 8));
  EXPECT_EQ(joinReplicaAxes(makeContextMesh(1, 1, 4, 2)), makeMesh(4, 2));
  EXPECT_EQ(joinReplicaAxes(makeMesh(4, 2)), makeMesh(4, 2));
}

TEST(JoinedMeshTest, LayoutsWithSeveralJoinedAxesOnADimensionHaveNoOther) {
  SimpleCosts costs;
  Mesh mesh = makeContextMesh(2, 1, 2, 2);
  LayoutTable layouts(mesh, costs), joined(joinReplicaAxes(mesh), costs);
  LayoutJoiner joiner(layouts, joined);
  auto isJoined = [&](const char *text) {
    return joiner.join(layouts.intern(*parseSharding(text, mesh))).has_value();
  };
  EXPECT_TRUE(isJoined("[{tp0}, {}] stored={dp0,cp0}"));
  EXPECT_TRUE(isJoined("[{tp0}, {}] partial=sum{dp0,cp0}"));
  // Alone, or where they may pad a dimension otherwise than one axis does.
  EXPECT_FALSE(isJoined("[{cp0}, {}]"));
  EXPECT_FALSE(isJoined("[{dp0,cp0}, {}]"));
  EXPECT_FALSE(isJoined("[{tp0}, {}] stored={dp0}"));
}

TEST(VariableListsTest, MeshesWithAsManyRanksForTheBatchShareOracles) {
  SimpleCosts costs;
  auto joined = makeMeshKnowledge(makeMesh(8, 2), costs);
  OnMesh first(/*data=*/8, /*context=*/1, /*microBatches=*/2, joined, costs);
  OnMesh second(/*data=*/2, /*context=*/4, /*microBatches=*/2, joined, costs);
  OnMesh third(/*data=*/4, /*context=*/2, /*microBatches=*/4, joined, costs);
  EXPECT_EQ(first.getVariables(), second.getVariables());
  EXPECT_EQ(first.getVariables(), third.getVariables());
}

TEST(VariableListsTest, VariablesCostNoMoreThanWhatTheyArePartOf) {
  SimpleCosts costs;
  auto joined = makeMeshKnowledge(makeMesh(8, 2), costs);
  // The second one has the oracles of the first.
  OnMesh first(/*data=*/8, /*context=*/1, /*microBatches=*/2, joined, costs);
  OnMesh second(/*data=*/2, /*context=*/4, /*microBatches=*/4, joined, costs);
  std::mt19937 random(4);
  std::uniform_real_distribution<double> price(0, 1);
  first.getVariables();
  auto variables = second.getVariables(), all = second.get(UnitScope::all);
  ASSERT_EQ(variables.size(), all.size());
  for (auto [part, whole] : llvm::zip_equal(variables, all))
    for (int time = 0; time < 20; ++time) {
      Weights weights;
      weights.forward = price(random);
      weights.inputGradient = price(random);
      weights.weightGradient = price(random);
      weights.meeting = price(random);
      weights.ends = price(random);
      weights.permanentBytes = 1e-3 * price(random);
      EXPECT_LE(part->getLeastValue(weights, allModes),
                whole->getLeastValue(weights, keepMode) * (1 + 1e-9) + 1e-12);
    }
}

TEST(VariableListsTest, AStepWithoutSumsOverMicroBatchesIsAnother) {
  SimpleCosts costs;
  auto joined = makeMeshKnowledge(makeMesh(8, 2), costs);
  OnMesh one(/*data=*/8, /*context=*/1, /*microBatches=*/1, joined, costs);
  OnMesh several(/*data=*/8, /*context=*/1, /*microBatches=*/2, joined, costs);
  EXPECT_NE(one.getVariables(), several.getVariables());
}

/// Layouts of a matrix: each of its dimensions over none or all tensor axes,
/// whole, pending or stored over those of the batch.
std::vector<Sharding> getLayouts(const Mesh &mesh) {
  std::vector<Sharding> layouts;
  AxisList tensor = getTensorAxes(mesh), batch = getBatchAxes(mesh);
  llvm::SmallVector<AxisList> lists = {{}};
  llvm::append_range(lists, getStorageLists(mesh));
  for (int dimension : {-1, 0, 1}) {
    Sharding layout = Sharding::getReplicated(2);
    if (dimension >= 0)
      layout.dims[dimension] = tensor;
    for (const AxisList &storage : lists) {
      layouts.push_back(layout);
      layouts.back().storage = storage;
    }
    layout.partial = batch;
    layouts.push_back(layout);
    if (dimension < 0) {
      llvm::append_range(layout.partial, tensor);
      layouts.push_back(layout);
    }
  }
  return layouts;
}

TEST(VariableListsTest, MovesOverAxesOfTheBatchTakeAsLongAsOverOne) {
  int compared = 0;
  for (const char *preset : {"dgx-a100-80g", "dgx-h100"})
    for (auto [data, inner, context, tensor] :
         {std::array<int64_t, 4>{4, 1, 4, 2},
          {4, 2, 8, 2},
          {1, 1, 16, 4},
          {8, 1, 2, 8},
          {6, 2, 4, 2}}) {
      Mesh mesh = makeContextMesh(data, inner, context, tensor);
      Mesh joined = joinReplicaAxes(mesh);
      DiagnosticEngine engine;
      CostModel model(
          *makeCluster(*findPreset(preset), mesh.getRankCount(), engine),
          Precision::bf16);
      ClusterCosts costs(model);
      LayoutTable apart(mesh, costs), together(joined, costs);
      std::vector<Sharding> layouts = getLayouts(mesh),
                            joinedLayouts = getLayouts(joined);
      ASSERT_EQ(layouts.size(), joinedLayouts.size());
      // Some sizes that no axis divides.
      for (std::array<int64_t, 2> shape :
           {std::array<int64_t, 2>{4096, 1024}, {100, 60}, {7, 5}}) {
        PlanningValue value;
        value.shape = {shape[0], shape[1]};
        value.elementBytes = 4;
        int form = apart.getForm(value), joinedForm = together.getForm(value);
        for (size_t from = 0; from < layouts.size(); ++from)
          for (size_t to = 0; to < layouts.size(); ++to) {
            if (layouts[to].isPartial())
              continue;
            double seconds = apart.getSeconds(form, apart.intern(layouts[from]),
                                              apart.intern(layouts[to]));
            EXPECT_DOUBLE_EQ(seconds, together.getSeconds(
                                          joinedForm,
                                          together.intern(joinedLayouts[from]),
                                          together.intern(joinedLayouts[to])))
                << preset << ": " << toString(layouts[from], mesh) << " to "
                << toString(layouts[to], mesh);
            ++compared;
          }
      }
    }
  EXPECT_GT(compared, 1000);
}

} // namespace
