//===- ScheduleRingsTest.cpp - Rings as statements ------------------------===//
//
// Part of parplan. What the statements compute, what they send, and what memory
// they take.
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"
#include "RingMachine.h"

#include "parplan/Simulator/Simulator.h"
#include "passes/Partition/Passes.h"
#include "passes/Schedule/ExtractProgram.h"
#include "passes/Schedule/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;

namespace parplan::test {
namespace {

constexpr double tolerance = 1e-11;
constexpr int64_t elementBytes = 8;

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// Bytes that a rank sends: keys and values n - 1 times forward and again
/// backward, their gradients n times, to come home.
int64_t countSent(RandomRing &example) {
  int64_t ranks = example.getRingWidth();
  int64_t block = example.countLocal(1) + example.countLocal(2);
  int64_t mask = 0;
  if (example.isMaskMoving)
    mask = example.countLocal(3) *
           (example.arguments[4].isReal() ? elementBytes : 1);
  return (3 * ranks - 2) * block * elementBytes + 2 * (ranks - 1) * mask;
}

TEST(ScheduleRings, StatementsComputeAndSendWhatIsPromised) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomRing example(seed);
    auto expected = interpret(example.getFunction(), example.arguments);
    ASSERT_TRUE(succeeded(expected));
    int64_t promised = countSent(example);
    auto sizes = example.getFunction().getResultTypes();
    SmallVector<RankedTensorType> types;
    for (Type type : sizes)
      types.push_back(cast<RankedTensorType>(type));
    SmallVector<Sharding> atRest;
    for (unsigned index = 0; index < types.size(); ++index)
      atRest.push_back(
          *example.getFunction()
               .getResultAttrOfType<ShardingAttr>(index, attributes::sharding)
               .resolve(example.mesh));
    PassManager manager(&getRingContext());
    buildPartitionPipeline(manager);
    buildSchedulePipeline(manager);
    ASSERT_TRUE(succeeded(manager.run(*example.module)))
        << "seed " << seed << "\n"
        << print(*example.module);
    auto program = *example.module->getOps<exec::ProgramOp>().begin();

    RingMachine machine(program);
    for (size_t number = 0; number < example.arguments.size(); ++number)
      machine.setInput(number, shard(example.arguments[number],
                                     example.layouts[number], example.mesh));
    ASSERT_TRUE(machine.run()) << print(*example.module);
    for (unsigned index = 0; index < types.size(); ++index) {
      Tensor value;
      auto fault = unshard(machine.getOutput(index), types[index],
                           atRest[index], example.mesh, value);
      ASSERT_FALSE(fault) << "seed " << seed << " result " << index << ": "
                          << *fault << "\n"
                          << print(*example.module);
      for (int64_t i = 0; i < value.getSize(); ++i) {
        if (value[i].real == (*expected)[index][i].real)
          continue;
        ASSERT_NEAR(value[i].real, (*expected)[index][i].real, tolerance)
            << "seed " << seed << " result " << index << " element " << i
            << "\n"
            << print(*example.module);
      }
    }
    ASSERT_EQ(machine.sentBytes, promised) << "seed " << seed;
    // What zig-zag order is for.
    if (example.zigzag > 1) {
      for (int64_t scores : machine.scores)
        ASSERT_EQ(scores, machine.scores.front()) << "seed " << seed;
    }
    Prediction prediction = predictResources(extractProgram(program));
    for (RankPrediction &rank : prediction.ranks)
      ASSERT_EQ(rank.communication[CollectiveKind::send].bytes, promised)
          << "seed " << seed;
  }
}

} // namespace
} // namespace parplan::test
