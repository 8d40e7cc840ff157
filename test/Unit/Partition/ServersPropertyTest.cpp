//===- ServersPropertyTest.cpp - Servers keep what a step trains ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RandomCosts.h"
#include "StepCase.h"

#include "dialects/parplan/ParplanOps.h"
#include "passes/Memory/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::test;

namespace {

/// A random step, planned for workers, that servers take part in.
class Case : public StepCase {
public:
  Case(uint64_t seed, int64_t workers, int64_t servers)
      : StepCase(seed, /*mostMicroBatches=*/3) {
    getFunctions().front().setSymName("main");
    PlanOptions plan;
    plan.gpus = workers + servers;
    plan.servers = servers;
    plan.context = 1;
    PassManager manager(&getContext());
    manager.addPass(createPlan(plan));
    isPlanned = succeeded(manager.run(*step.module));
  }

  bool compile() {
    PassManager manager(&getContext());
    buildPartitionPipeline(manager);
    buildPipelinePipeline(manager);
    constexpr int64_t bucketBytes[] = {1, 400, 1 << 20};
    RandomCosts costs(random);
    buildMemoryPipeline(manager, random.pick(bucketBytes), &costs);
    return succeeded(manager.run(*step.module));
  }

  bool isPlanned = false;
};

TEST(ServersProperty, WorkersAndServersTogetherTrainAsOneTrains) {
  int planned = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    int64_t workers = 1 + static_cast<int64_t>(seed % 3);
    int64_t servers = 1 + static_cast<int64_t>(seed / 3 % 3);
    Case test(seed, workers, servers);
    if (!test.isPlanned)
      continue;
    ++planned;
    ASSERT_TRUE(test.compile())
        << "seed " << seed << ": " << test.messages << test.print();
    ASSERT_EQ(test.getFunctions().size(), 2u);
    ASSERT_EQ(test.findFault(), "") << "seed " << seed << "\n" << test.print();
  }
  EXPECT_GT(planned, 60);
}

} // namespace
