//===- RingsTest.cpp - Attention in a ring equals attention ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

#include "passes/Partition/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;

namespace parplan::test {
namespace {

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// Sums in another order; values are of the size of one.
constexpr double tolerance = 1e-12;

TEST(Rings, OfInterpretedRanksEqualOneRank) {
  int causal = 0, moving = 0, padded = 0, grouped = 0, wide = 0, zigzag = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomRing example(seed);
    ASSERT_TRUE(succeeded(verify(*example.module)));
    auto expected = interpret(example.getFunction(), example.arguments);
    ASSERT_TRUE(succeeded(expected));
    PassManager manager(&getRingContext());
    buildPartitionPipeline(manager);
    ASSERT_TRUE(succeeded(manager.run(*example.module)))
        << "seed " << seed << "\n"
        << print(*example.module);
    auto rings = example.getFunction().getOps<RingAttentionOp>();
    ASSERT_FALSE(rings.empty()) << print(*example.module);
    auto actual = interpretRanks(example.getFunction(), example.arguments);
    ASSERT_TRUE(succeeded(actual)) << print(*example.module);
    for (auto [index, value] : llvm::enumerate(*expected))
      for (int64_t i = 0; i < value.getSize(); ++i) {
        double other = (*actual)[index][i].real;
        if (other == value[i].real)
          continue;
        ASSERT_NEAR(other, value[i].real, tolerance)
            << "seed " << seed << " result " << index << " element " << i
            << "\n"
            << print(*example.module);
      }
    RingAttentionOp ring = *rings.begin();
    int64_t keys = ring.getKeys(), width = example.getRingWidth();
    causal += example.causal;
    moving += example.isMaskMoving;
    padded += keys % width != 0;
    grouped += example.rule.findFactor("r").has_value();
    wide += width > 4;
    zigzag += ring.getZigzag();
  }
  EXPECT_GT(causal, 100);
  EXPECT_GT(moving, 20);
  EXPECT_GT(padded, 100);
  EXPECT_GT(grouped, 100);
  EXPECT_GT(wide, 20);
  EXPECT_GT(zigzag, 80);
}

TEST(Rings, NeedTheirRanks) {
  RandomRing example(0);
  PassManager manager(&getRingContext());
  buildPartitionPipeline(manager);
  ASSERT_TRUE(succeeded(manager.run(*example.module)));
  std::string message;
  ScopedDiagnosticHandler handler(&getRingContext(),
                                  [&](Diagnostic &diagnostic) {
                                    message = diagnostic.str();
                                    return success();
                                  });
  EXPECT_TRUE(failed(interpret(example.getFunction(), example.arguments)));
  EXPECT_EQ(message, "'parplan.ring_attention' op is of a local program, and "
                     "runs on its ranks");
}

} // namespace
} // namespace parplan::test
