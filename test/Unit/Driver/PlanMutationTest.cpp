//===- PlanMutationTest.cpp - Plans that make no sense --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Commands.h"
#include "lib/Driver/Force.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "test/Unit/Support/MutateJson.h"

#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

constexpr char model[] = PARPLAN_TEST_MODELS "/mlp/model.onnx";

/// The plan of a step on 4 devices.
Json makePlan(const std::string &directory, const char *force) {
  CompileOptions options;
  options.modelPath = model;
  options.gpus = 4;
  options.cluster = "host";
  options.training.emplace();
  options.emit = EmitStage::plan;
  options.outputDirectory = directory + "/plan";
  DiagnosticEngine engine;
  options.force = parseForce(force, options.gpus, /*isTraining=*/true, engine);
  CommandResult result = compile(options, {}, engine);
  EXPECT_FALSE(engine.hasErrors()) << engine.render();
  return result.document["plan"];
}

/// Others with --gtest_shuffle --gtest_random_seed=N.
unsigned getSeed() {
  return static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
}

TEST(PlanMutations, AreRefusedOrConfirmed) {
  llvm::SmallString<64> directory;
  ASSERT_FALSE(
      llvm::sys::fs::createUniqueDirectory("parplan-mutations", directory));
  std::vector<JsonMutator> mutators;
  for (const char *force :
       {"pp=2,dp=2,zero=1,recompute=selective,offload=optimizer:cpu",
        "tp2d=2x2", "parameter-server=async,servers=2"})
    mutators.emplace_back(makePlan(directory.str().str(), force), getSeed());
  std::string path = directory.str().str() + "/mutated.json";
  constexpr int count = 1000;
  int refuted = 0, confirmed = 0;
  for (int number = 0; number < count; ++number) {
    DiagnosticEngine engine;
    // What ends the process leaves the file.
    ASSERT_TRUE(writeFileAtomically(
        path, mutators[number % mutators.size()].getNext(), engine));
    checkPlan(path, model, {}, engine);
    EXPECT_NE(engine.getExitCode(), ExitCode::internalError)
        << engine.render() << path;
    confirmed += !engine.hasErrors();
    for (const Diagnostic &entry : engine.getDiagnostics())
      refuted += entry.code.number == codes::planRefuted.number;
    if (number % 4 > 0)
      continue;
    DiagnosticEngine explained;
    explainPlan(path, "", explained);
    EXPECT_NE(explained.getExitCode(), ExitCode::internalError)
        << explained.render() << path;
  }
  // All depths of the reader are reached.
  EXPECT_GT(confirmed, count / 100);
  EXPECT_GT(refuted, count / 100);
  llvm::sys::fs::remove_directories(directory);
}

} // namespace
