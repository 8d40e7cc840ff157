//===- ForceTest.cpp - What --force fixes ---------------------------------===//
//
// That malformed and impossible lists are refused is in test/Driver.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Force.h"

#include "gmock/gmock.h"

using namespace parplan;
using testing::ElementsAre;

namespace {

ForceOptions parse(std::string_view text, int64_t gpus) {
  DiagnosticEngine engine;
  ForceOptions force = parseForce(text, gpus, /*isTraining=*/true, engine);
  EXPECT_FALSE(engine.hasErrors()) << engine.render();
  return force;
}

TEST(Force, TakesGrids) {
  ForceOptions force = parse("tp2d=2x3,dp=2", 12);
  ASSERT_TRUE(force.grid);
  EXPECT_EQ(force.grid->kind, ForcedGrid::Kind::grid2d);
  EXPECT_THAT(force.grid->sizes, ElementsAre(2, 3));
  EXPECT_FALSE(force.tensorSize);
  EXPECT_EQ(force.dataSize, 2);

  force = parse("tp2.5d=2x2x3", 12);
  EXPECT_EQ(force.grid->kind, ForcedGrid::Kind::grid2_5d);
  EXPECT_THAT(force.grid->sizes, ElementsAre(2, 2, 3));
  EXPECT_EQ(parse("tp3d=2x2x2", 8).grid->kind, ForcedGrid::Kind::grid3d);
}

TEST(Force, AGridOfOneRankIsNoTensorParallelism) {
  ForceOptions force = parse("tp2d=1x1", 4);
  EXPECT_FALSE(force.grid);
  EXPECT_EQ(force.tensorSize, 1);
}

TEST(Force, TakesContextExpertsAndSequence) {
  ForceOptions force = parse("cp=2,ep=2,sp=on", 8);
  EXPECT_EQ(force.contextSize, 2);
  EXPECT_EQ(force.expertSize, 2);
  EXPECT_EQ(force.sequenceParallel, true);
  EXPECT_EQ(parse("sp=off", 8).sequenceParallel, false);
  EXPECT_FALSE(parse("", 8).sequenceParallel);
}

TEST(Force, TakesEveryAlgorithm) {
  for (Algorithm algorithm : allAlgorithms) {
    std::string name = stringifyAlgorithm(algorithm).str();
    ForceOptions force = parse("node:\"/h.*/a,b:c\":" + name, 2);
    ASSERT_EQ(force.nodes.size(), 1u);
    EXPECT_EQ(force.nodes[0].nodeGlob, "/h.*/a,b:c");
    EXPECT_EQ(force.nodes[0].algorithm, algorithm);
  }
}

} // namespace
