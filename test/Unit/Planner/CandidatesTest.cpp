//===- CandidatesTest.cpp - Which layouts are considered ------------------===//

#include "TestProblems.h"

#include "parplan/Planner/Candidates.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

TEST(MakeMesh, FactorsTensorRanksIntoPrimesWithTheLargestFirst) {
  Mesh mesh = makeMesh(/*data=*/4, /*tensor=*/12);
  ASSERT_EQ(mesh.getAxisCount(), 4);
  EXPECT_EQ(mesh.getAxis(0), (MeshAxis{"dp0", 4, AxisRole::data}));
  EXPECT_EQ(mesh.getAxis(1), (MeshAxis{"tp0", 3, AxisRole::tensor}));
  EXPECT_EQ(mesh.getAxis(3), (MeshAxis{"tp2", 2, AxisRole::tensor}));
}

TEST(MakeMesh, HasNoAxesForOneRank) {
  EXPECT_EQ(makeMesh(1, 1).getAxisCount(), 0);
}

TEST(StorageLists, AreOfAllAxesThatSplitSamplesAndOfThoseWithoutTheOuterOne) {
  MeshSizes sizes;
  sizes.data = 8;
  sizes.innerData = 2;
  sizes.context = 2;
  sizes.expert = 2;
  sizes.tensor = {2};
  Mesh mesh = makeMesh(sizes);
  EXPECT_EQ(getStorageLists(mesh),
            (llvm::SmallVector<AxisList>{{0, 1, 2, 3}, {1, 2, 3}}));
  EXPECT_EQ(getStorageLists(makeMesh(4, 2)), llvm::SmallVector<AxisList>{{0}});
  EXPECT_TRUE(getStorageLists(makeMesh(1, 2)).empty());
}

TEST(Assignments, PutDataAxesOnTheBatchAndTensorAxesElsewhere) {
  PlanningProblem mlp = makeMlp(8, 16, 32);
  Mesh mesh = makeMesh(2, 2);
  std::vector<Algorithm> algorithms;
  for (const FactorAssignment &assignment : getAssignments(
           mlp.ops[0], mesh, getMeshAxes(mlp, {mesh, getGrids(mesh)}))) {
    EXPECT_EQ(assignment.axes[0], AxisList{0});
    algorithms.push_back(getAlgorithm(mlp.ops[0], assignment, mesh));
  }
  EXPECT_EQ(algorithms,
            (std::vector<Algorithm>{Algorithm::replicate, Algorithm::column,
                                    Algorithm::row}));
}

TEST(Assignments, LeaveOutFactorsSmallerThanTheAxes) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 64});
  builder.addProduct(x, builder.addParameter({64, 3}));
  Mesh mesh = makeMesh(1, 4);
  // Three columns take one axis of two, never both.
  MeshAxes axes = getMeshAxes(builder.problem, {mesh, getGrids(mesh)});
  EXPECT_EQ(axes.counts, (llvm::SmallVector<size_t>{2, 1}));
  for (const FactorAssignment &assignment :
       getAssignments(builder.problem.ops[0], mesh, axes))
    EXPECT_LE(assignment.axes[1].size(), 1u);
}

TEST(Algorithm, NamesRoundTrip) {
  for (Algorithm algorithm : allAlgorithms)
    EXPECT_EQ(parseAlgorithm(stringifyAlgorithm(algorithm)), algorithm);
  EXPECT_EQ(parseAlgorithm("summa"), std::nullopt);
}

} // namespace
