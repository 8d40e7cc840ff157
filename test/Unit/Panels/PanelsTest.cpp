//===- PanelsTest.cpp - Products in panels on N ranks equal one -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "PanelsFixture.h"

#include "dialects/parplan/Panels.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace mlir;

namespace parplan::test {
namespace {

TEST(Panels, BoundariesOfBothTensors) {
  Mesh mesh({{"x", 2}, {"y", 3}});
  auto panels = getPanels(6, {{0}, {1}}, mesh);
  ASSERT_EQ(panels.size(), 4u);
  int64_t starts[] = {0, 2, 3, 4}, sizes[] = {2, 1, 1, 2};
  int64_t ofX[] = {0, 0, 1, 1}, ofY[] = {0, 1, 1, 2};
  int64_t inX[] = {0, 2, 0, 1}, inY[] = {0, 0, 1, 0};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(panels[i].start, starts[i]);
    EXPECT_EQ(panels[i].size, sizes[i]);
    EXPECT_EQ(panels[i].places[0].owner, ofX[i]);
    EXPECT_EQ(panels[i].places[1].owner, ofY[i]);
    EXPECT_EQ(panels[i].places[0].offset, inX[i]);
    EXPECT_EQ(panels[i].places[1].offset, inY[i]);
  }
}

// x + y - gcd(x, y) where blocks divide, fewer where some are empty.
TEST(Panels, CountOfDividingBlocks) {
  for (int64_t x = 1; x <= 6; ++x)
    for (int64_t y = 1; y <= 6; ++y) {
      Mesh mesh({{"x", x}, {"y", y}});
      EXPECT_EQ(static_cast<int64_t>(getPanels(60, {{0}, {1}}, mesh).size()),
                x + y - std::gcd(x, y))
          << x << "x" << y;
    }
}

// Nested blocks of sizes that nothing divides: panels follow each other to the
// end, none beyond, and each lies inside of the block that is said to own it.
TEST(Panels, CoverEveryElementOnce) {
  Mesh mesh({{"x", 2}, {"y", 3}, {"z", 2}});
  for (int64_t size = 1; size <= 40; ++size)
    for (auto [left, right] : {std::pair<AxisList, AxisList>{{0, 2}, {1}},
                               {{1, 0}, {2}},
                               {{}, {1}}}) {
      int64_t next = 0;
      for (const Panel &panel : getPanels(size, {left, right}, mesh)) {
        EXPECT_EQ(panel.start, next);
        EXPECT_GT(panel.size, 0);
        next += panel.size;
        for (auto [axes, place] :
             llvm::zip_equal(ArrayRef<AxisList>{left, right}, panel.places)) {
          for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
            if (mesh.getIndex(rank, axes) != place.owner)
              continue;
            Interval block = mesh.getInterval(size, axes, rank);
            EXPECT_EQ(block.start + place.offset, panel.start);
            EXPECT_LE(panel.start + panel.size, block.stop);
          }
        }
      }
      EXPECT_EQ(next, size);
    }
}

// Loops go over letters that one tensor lacks.
TEST(Panels, LettersOfPanels) {
  RandomProduct product;
  for (uint64_t seed = 0; product.spec != "hmk,hkn->hmn"; ++seed)
    product = makeRandomProduct(getPanelContext(), seed);
  for (auto [index, factor] : llvm::enumerate(product.rule.factors))
    EXPECT_EQ(llvm::is_contained(product.rule.panelFactors, index),
              factor.name != "h");
}

// Choices of tokens do not move, and products of rows repeat experts only.
TEST(Panels, LettersOfPanelsOfRows) {
  std::pair<std::string, std::string> cases[] = {
      {"etk,ekn->etn", "kn"}, {"etk,eknp->etnp", "k"}, {"etk,etn->ekn", "kn"}};
  for (const auto &[spec, letters] : cases) {
    RandomProduct product;
    for (uint64_t seed = 0; product.spec != spec; ++seed)
      product = makeRandomProduct(getPanelContext(), seed);
    for (auto [index, factor] : llvm::enumerate(product.rule.factors))
      EXPECT_EQ(llvm::is_contained(product.rule.panelFactors, index),
                letters.find(factor.name) != std::string::npos)
          << spec << ", " << factor.name;
  }
}

TEST(Panels, RanksEqualOne) {
  int looped = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    PanelCase example(seed);
    ASSERT_TRUE(example.partition()) << example.messages;
    looped += !example.getLocalFunction().getOps<PanelMatmulOp>().empty();
    auto values =
        interpretRanks(example.getLocalFunction(), example.product.arguments);
    ASSERT_TRUE(succeeded(values)) << example.messages << example.print();
    ASSERT_EQ(example.compare(values->front()), "") << "seed " << seed << "\n"
                                                    << example.print();
  }
  EXPECT_GT(looped, 300);
}

} // namespace
} // namespace parplan::test
