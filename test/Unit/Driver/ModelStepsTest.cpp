//===- ModelStepsTest.cpp - A model's step by its micro-batches -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/ModelSteps.h"
#include "lib/Driver/IRDumper.h"
#include "parplan/Planner/ProblemFile.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

struct Imported {
  FrontendOptions options;
  DiagnosticEngine engine;
  IRDumper silent{"", engine};
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  std::optional<SimplifiedModel> model;

  Imported(const std::string &name,
           std::map<std::string, int64_t, std::less<>> dims, bool isTraining) {
    options.import.path = PARPLAN_TEST_MODELS "/" + name + "/model.onnx";
    options.import.dims = std::move(dims);
    if (isTraining)
      options.training.emplace();
    model = simplifyModel(*context, options, silent, engine);
  }

  /// What is imported for a number of micro-batches.
  std::optional<PlanningProblem> getStep(int64_t count) {
    FrontendOptions step = options;
    step.microBatches = count;
    auto simplified = simplifyModel(*context, step, silent, engine);
    auto frontend = simplified ? finishFrontend(std::move(*simplified), step,
                                                silent, engine)
                               : std::nullopt;
    return frontend ? std::optional(std::move(frontend->graph.problem))
                    : std::nullopt;
  }
};

struct StepsCase {
  const char *model;
  std::map<std::string, int64_t, std::less<>> dims;
  bool isTraining;
};

TEST(ModelSteps, EqualTheStepsOfModelsImportedForThem) {
  const StepsCase cases[] = {
      {"mlp", {}, true},
      {"llama-train", {{"batch", 8}}, true},
      {"gpt2-dynamic", {{"batch", 8}, {"sequence", 32}}, true},
      {"gpt2-dynamic", {{"batch", 8}, {"sequence", 32}}, false},
  };
  for (const StepsCase &given : cases) {
    SCOPED_TRACE(given.model);
    Imported imported(given.model, given.dims, given.isTraining);
    ASSERT_TRUE(imported.model) << imported.engine.render();
    std::vector<int64_t> counts = getMicroBatchCounts(*imported.model);
    EXPECT_EQ(counts, (std::vector<int64_t>{1, 2, 4, 8}));
    ModelSteps steps(*imported.model, imported.options, counts);
    for (int64_t count : counts) {
      auto expected = imported.getStep(count);
      auto found = steps.getProblems().get(count);
      ASSERT_TRUE(expected) << imported.engine.render();
      ASSERT_TRUE(found);
      EXPECT_EQ(findDifference(*found->get(), *expected), std::nullopt)
          << count;
    }
    EXPECT_EQ(steps.getObstacle(), std::nullopt);
  }
}

TEST(ModelSteps, TakeAStepThatIsKnown) {
  Imported imported("gpt2-dynamic", {{"batch", 8}, {"sequence", 32}},
                    /*isTraining=*/true);
  ASSERT_TRUE(imported.model) << imported.engine.render();
  std::optional<PlanningProblem> known = imported.getStep(1);
  ASSERT_TRUE(known);
  known->fixedBytes = 1234;
  ModelSteps steps(*imported.model, imported.options, {1, 2, 4}, known);
  auto find = [&](int64_t count) {
    return *steps.getProblems().get(count)->get();
  };
  EXPECT_EQ(find(1).fixedBytes, 1234);
  EXPECT_EQ(findDifference(find(2), *imported.getStep(2)), std::nullopt);
}

TEST(ModelSteps, HaveTheOrderThatIsAskedFor) {
  Imported imported("llama-train", {{"batch", 8}}, /*isTraining=*/true);
  ASSERT_TRUE(imported.model) << imported.engine.render();
  FrontendOptions options = imported.options;
  options.zigzag = 2;
  ModelSteps steps(*imported.model, options, {1, 2, 4});
  std::optional<StepProblem> step = steps.getProblems().get(2);
  ASSERT_TRUE(step);
  EXPECT_TRUE(llvm::any_of(
      step->get()->ops, [](const PlanningOp &op) { return op.zigzag == 2; }));
}

} // namespace
