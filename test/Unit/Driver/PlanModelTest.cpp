//===- PlanModelTest.cpp - Why a sequence lies as it does -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/PlanModel.h"

#include "lib/Driver/Force.h"
#include "lib/Driver/IRDumper.h"

#include <gtest/gtest.h>

#include <thread>

using namespace parplan;

namespace {

TEST(DescribeSequence, GivesNoReasonForZigzag) {
  SequenceSummary summary =
      describeSequence({1, 2}, {{{1, 1}, 4}, {{1, 2}, 3}}, std::nullopt);
  EXPECT_EQ(summary.zigzag, 2);
  EXPECT_EQ(summary.reason, "");
}

TEST(DescribeSequence, NamesTheLeastTimeInZigzagOrder) {
  SequenceSummary summary =
      describeSequence({2, 1},
                       {{{1, 8}, 1},
                        {{2, 1}, 1},
                        {{2, 2}, 3},
                        {{2, 4}, 2},
                        {{2, 8}, 4},
                        {{2, 8, SearchEffort::lastResorts}, 1}},
                       "16 ranks are too many");
  EXPECT_EQ(summary.zigzag, 1);
  EXPECT_EQ(summary.reason,
            "in zig-zag order over 4 ranks a step would take 2.00 s");
}

TEST(DescribeSequence, NamesTheObstacleWithoutATime) {
  EXPECT_EQ(describeSequence({1, 1}, {{{1, 1}, 1}}, "a slice").reason,
            "a slice");
  EXPECT_EQ(describeSequence({1, 1}, {{{1, 1}, 1}}, std::nullopt).reason,
            "no plan with another order was found");
}

/// A training step of a small GPT-2: jointly searched on 16 devices, mesh by
/// mesh on few.
struct Planned {
  CompileOptions options;
  DiagnosticEngine engine;
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  std::optional<PlannedModel> model;

  Planned(const std::string &forced, const std::string &dumpDirectory,
          int64_t gpus = 16) {
    options.modelPath = PARPLAN_TEST_MODELS "/gpt2-dynamic/model.onnx";
    options.gpus = gpus;
    options.cluster = "dgx-a100-80g";
    options.training.emplace();
    if (!forced.empty()) {
      options.forceEntries = {forced};
      options.force =
          parseForce(forced, options.gpus, /*isTraining=*/true, engine);
    }
    FrontendOptions request;
    request.import.path = options.modelPath;
    request.import.dims = {{"batch", 16}, {"sequence", 32}};
    request.training = options.training;
    std::optional<Cluster> cluster = chooseCluster(options, engine);
    request.cluster = cluster->description;
    IRDumper dumper(dumpDirectory, engine);
    model = planModel(*context, options, request, *cluster,
                      cluster->getDevice().memoryBytes, dumper, engine);
  }
};

bool hasProcessors() { return std::thread::hardware_concurrency() > 1; }

TEST(PlanModel, TakesTheProgramThatWasMadeBesideTheSearch) {
  Planned planned("", "");
  ASSERT_TRUE(planned.model) << planned.engine.render();
  EXPECT_EQ(planned.model->isLoweredEarly, hasProcessors());
}

TEST(PlanModel, TakesTheProgramThatWasMadeBesideTheLastMeshes) {
  Planned planned("", "", /*gpus=*/4);
  ASSERT_TRUE(planned.model) << planned.engine.render();
  EXPECT_EQ(planned.model->isLoweredEarly, hasProcessors());
}

TEST(PlanModel, ProgramsMadeBesideTheSearchAreThoseMadeAfterIt) {
  Planned early("", "");
  Planned late("", testing::TempDir() + "plan-model-test");
  ASSERT_TRUE(early.model) << early.engine.render();
  ASSERT_TRUE(late.model) << late.engine.render();
  EXPECT_FALSE(late.model->isLoweredEarly) << "what is dumped is made once";
  EXPECT_EQ(*early.model->plan.answer, *late.model->plan.answer);
  const Prediction &one = early.model->lowered.prediction;
  const Prediction &other = late.model->lowered.prediction;
  ASSERT_EQ(one.ranks.size(), other.ranks.size());
  for (size_t rank = 0; rank < one.ranks.size(); ++rank) {
    EXPECT_EQ(one.ranks[rank].peakBytes, other.ranks[rank].peakBytes);
    EXPECT_EQ(one.ranks[rank].orderDigest, other.ranks[rank].orderDigest);
  }
}

TEST(PlanModel, ComparesForcedPlansBeforeItMakesAProgram) {
  Planned planned("pp=2", "");
  ASSERT_TRUE(planned.model) << planned.engine.render();
  EXPECT_FALSE(planned.model->isLoweredEarly);
}

} // namespace
