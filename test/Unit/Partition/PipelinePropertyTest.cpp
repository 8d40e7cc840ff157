//===- PipelinePropertyTest.cpp - All positions equal one -----------------===//
//
// Part of parplan. Random training steps, meshes, cuts into stages and
// schedules: the programs of all pipeline positions on N interpreted ranks
// compute what the step computes on one, exactly where all values are integral.
// Faults planted into the programs are noticed.
//
//===----------------------------------------------------------------------===//

#include "Outcomes.h"
#include "RandomCosts.h"
#include "RandomPlan.h"
#include "RandomStages.h"
#include "StepCase.h"

#include "passes/Memory/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

using namespace mlir;

namespace parplan::test {
namespace {

constexpr uint64_t stepCount = 600;

uint64_t readSetting(const char *name, uint64_t usual) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

/// A random step with a plan, cut into the programs of its positions.
class Case : public StepCase {
public:
  explicit Case(uint64_t seed) : StepCase(seed, /*mostMicroBatches=*/6) {
    func::FuncOp function = getFunctions().front();
    int64_t positions = random.between(2, 4);
    ScheduleShape shape = pickSchedule(random, positions, step.microBatches);
    writeRandomPlan(*step.module, random, positions);
    writeRandomStages(function, shape, random);
  }

  bool compile() {
    planned = print();
    PassManager manager(&getContext());
    buildPartitionPipeline(manager);
    buildPipelinePipeline(manager);
    if (failed(manager.run(*step.module)))
      return false;
    PassManager memory(&getContext());
    constexpr int64_t bucketBytes[] = {0, 400, 1 << 20};
    RandomCosts costs(random);
    buildMemoryPipeline(memory, random.pick(bucketBytes), &costs);
    return succeeded(memory.run(*step.module));
  }

  std::string findFault() { return StepCase::findFault(checkBlocks); }

  std::string describe() {
    return "planned:\n" + planned + "\ncompiled:\n" + print();
  }

private:
  std::string planned;
};

TEST(PipelineProperty, PositionsTogetherTrainAsOneTrains) {
  std::map<std::string, int> opCounts;
  int exact = 0;
  uint64_t first = readSetting("PARPLAN_FIRST_SEED", 0);
  uint64_t last = first + readSetting("PARPLAN_GRAPHS", stepCount);
  for (uint64_t seed = first; seed < last; ++seed) {
    Case test(seed);
    bool isCompiled = test.compile();
    EXPECT_TRUE(isCompiled)
        << "seed " << seed << ": " << test.messages << test.describe();
    std::string fault = isCompiled ? test.findFault() : "";
    EXPECT_EQ(fault, "") << "seed " << seed << "\n" << test.describe();
    if (testing::Test::HasFailure())
      return;
    exact += test.step.tolerance == 0;
    test.step.module->walk(
        [&](Operation *op) { ++opCounts[op->getName().getStringRef().str()]; });
  }
  EXPECT_GT(exact * 5, static_cast<int>(last - first));
  for (const char *name : {"send", "receive", "all_reduce", "optimizer_update"})
    EXPECT_GT(opCounts[std::string("parplan.") + name], 20) << name;
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

/// A fault of the phase, planted into the programs that it made.
struct Fault {
  const char *name;
  /// The share of plants that at least must be noticed: some meet zeros, or
  /// values that the step hardly reads.
  int percent;
  bool (*plant)(ArrayRef<func::FuncOp> functions, Random &random);
  /// Noticed by the verifier, without values.
  bool isOfOrder = false;
};

template <typename Op>
SmallVector<Op> findOps(ArrayRef<func::FuncOp> functions) {
  SmallVector<Op> ops;
  for (func::FuncOp function : functions)
    llvm::append_range(ops, function.getOps<Op>());
  return ops;
}

/// A message with the value of an earlier one.
bool sendAgain(ArrayRef<func::FuncOp> functions, Random &random) {
  SmallVector<std::pair<SendOp, SendOp>> pairs;
  SmallVector<SendOp> all = findOps<SendOp>(functions);
  for (SendOp left : all)
    for (SendOp right : all)
      if (left->getBlock() == right->getBlock() &&
          left->isBeforeInBlock(right) &&
          left.getInput().getType() == right.getInput().getType())
        pairs.emplace_back(left, right);
  if (pairs.empty())
    return false;
  auto [left, right] = random.pick(pairs);
  right->setOperand(0, left.getInput());
  return true;
}

/// The norm of one position only.
bool forgetPositions(ArrayRef<func::FuncOp> functions, Random &) {
  bool found = false;
  for (auto reduce : findOps<AllReduceOp>(functions))
    if (reduce.getAxes().getNames().front().getValue() == "pp0") {
      reduce.getResult().replaceAllUsesWith(reduce.getInput());
      reduce.erase();
      found = true;
    }
  return found;
}

/// A part of a tied gradient, or of a sum over micro-batches.
bool forgetPart(ArrayRef<func::FuncOp> functions, Random &random) {
  SmallVector<AddOp> sums;
  for (auto sum : findOps<AddOp>(functions))
    if (getRole(sum) == roles::gradientSum)
      sums.push_back(sum);
  if (sums.empty())
    return false;
  AddOp sum = random.pick(sums);
  sum.getResult().replaceAllUsesWith(sum.getLhs());
  sum.erase();
  return true;
}

/// A message that nobody takes.
bool forgetReceive(ArrayRef<func::FuncOp> functions, Random &random) {
  SmallVector<SendOp> sends = findOps<SendOp>(functions);
  if (sends.empty())
    return false;
  SendOp send = random.pick(sends);
  OpBuilder builder(send);
  builder.clone(*send);
  return true;
}

/// Two neighbours in the order of messages, exchanged on one side.
bool exchangeMessages(ArrayRef<func::FuncOp> functions, Random &random) {
  SmallVector<std::pair<Operation *, Operation *>> pairs;
  for (func::FuncOp function : functions) {
    Operation *last = nullptr;
    for (Operation &op : function.getBody().front()) {
      auto point = dyn_cast<PointToPointOpInterface>(op);
      if (!point)
        continue;
      if (last && isa<SendOp>(op) != isa<SendOp>(last) &&
          cast<PointToPointOpInterface>(last).getPeer() == point.getPeer())
        pairs.emplace_back(last, &op);
      last = &op;
    }
  }
  if (pairs.empty())
    return false;
  auto [left, right] = random.pick(pairs);
  right->moveBefore(left);
  return true;
}

/// An op of a later micro-batch, before its turn.
bool runEarly(ArrayRef<func::FuncOp> functions, Random &random) {
  SmallVector<Operation *> ops;
  for (func::FuncOp function : functions) {
    Operation *first = nullptr;
    for (Operation &op : function.getBody().front()) {
      auto number = op.getAttrOfType<IntegerAttr>(attributes::microBatch);
      if (!number || !getStage(&op))
        continue;
      if (!first)
        first = &op;
      else if (number.getInt() > 0 && !isa<AddOp>(op))
        ops.push_back(&op);
    }
  }
  if (ops.empty())
    return false;
  Operation *op = random.pick(ops);
  op->setAttr(attributes::microBatch,
              Builder(op->getContext()).getI64IntegerAttr(0));
  return true;
}

constexpr Fault faults[] = {
    {"message sent again", 50, sendAgain},
    {"norm of one position", 50, forgetPositions},
    {"forgotten part of a sum", 60, forgetPart},
    {"message that nobody takes", 100, forgetReceive, true},
    {"messages exchanged", 100, exchangeMessages, true},
    {"pass of another micro batch", 50, runEarly, true},
};

class PipelineMutants : public testing::TestWithParam<Fault> {};

TEST_P(PipelineMutants, AreNoticed) {
  int planted = 0, noticed = 0;
  for (uint64_t seed = 0; seed < stepCount && planted < 100; ++seed) {
    Case test(seed);
    if (!test.compile() || !GetParam().plant(test.getFunctions(), test.random))
      continue;
    ++planted;
    if (GetParam().isOfOrder) {
      PassManager manager(&Case::getContext());
      manager.addPass(createVerifyPipeline());
      noticed += failed(manager.run(*test.step.module));
    } else {
      noticed += !test.findFault().empty();
    }
  }
  EXPECT_GE(planted, 30);
  EXPECT_GE(noticed * 100, planted * GetParam().percent)
      << noticed << " of " << planted;
}

INSTANTIATE_TEST_SUITE_P(All, PipelineMutants, testing::ValuesIn(faults),
                         [](const testing::TestParamInfo<Fault> &info) {
                           std::string name = info.param.name;
                           for (char &letter : name)
                             if (letter == ' ')
                               letter = '_';
                           return name;
                         });

} // namespace
} // namespace parplan::test
