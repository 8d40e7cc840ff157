//===- PanelTest.cpp - What loops over panels keep ------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "LinearStrategies.h"

#include "dialects/parplan/Panels.h"

#include <gtest/gtest.h>

#include <set>

using namespace parplan;
using namespace parplan::test;

namespace {

/// The sizes of the panels of k elements: from one to the next of the ends of
/// blocks over x and over y.
std::vector<int64_t> getPanelSizes(int64_t k, int64_t x, int64_t y) {
  std::set<int64_t> ends = {k};
  for (int64_t ranks : {x, y})
    for (int64_t end = 0; end < k; end += ceilDivide(k, ranks))
      ends.insert(end);
  std::vector<int64_t> sizes;
  for (auto end = std::next(ends.begin()); end != ends.end(); ++end)
    sizes.push_back(*end - *std::prev(end));
  return sizes;
}

/// What the scheduled loops of Y = X W and its gradients take beside blocks.
int64_t measure(const char *name, const Mesh &mesh, int64_t m, int64_t k,
                int64_t n, bool withBackward, Random &random) {
  std::string fault;
  LocalProgram program(
      makeLinear(getLinearStrategy(name), mesh, m, k, n, withBackward, random),
      fault);
  EXPECT_EQ(fault, "");
  return program.schedule().activations;
}

/// Elements of k in the slots of an operand whose panels move between `ranks`
/// ranks: of two, used in turn, as panel p + 1 travels while p is multiplied.
/// Two ranks with a panel each, in one piece in its block, read their own there
/// and need a slot for the other one alone.
int64_t getSlots(const std::vector<int64_t> &panels, int64_t k, int64_t ranks,
                 bool areRows) {
  int64_t longest[2] = {0, 0};
  bool areWhole = areRows;
  for (auto [number, size] : llvm::enumerate(panels)) {
    longest[number % 2] = std::max(longest[number % 2], size);
    areWhole |= 2 * size == k;
  }
  if (panels.size() == 2 && ranks == 2 && areWhole)
    return std::max(longest[0], longest[1]);
  return longest[0] + longest[1];
}

TEST(Panels, TakeAtMostTwoOfEachOperandThatMoves) {
  Random random(10);
  for (int i = 0; i < 200 && !testing::Test::HasFailure(); ++i) {
    Mesh mesh = drawMesh("xy", random);
    int64_t x = mesh.getAxis(0).size, y = mesh.getAxis(1).size;
    auto drawOne = [&] { return drawSize(mesh, i % 2 == 0, random); };
    int64_t m = drawOne(), k = drawOne(), n = drawOne();
    std::vector<int64_t> panels = getPanelSizes(k, x, y);
    int64_t rows = ceilDivide(m, x), columns = ceilDivide(n, y);
    int64_t expected = getSlots(panels, k, y, /*areRows=*/rows == 1) * rows +
                       getSlots(panels, k, x, /*areRows=*/true) * columns;
    EXPECT_EQ(measure("Summa2d", mesh, m, k, n, false, random), expected);
    EXPECT_EQ(measure("Summa2d", mesh, m, k, n, true, random), expected);
  }
}

/// Where q x q ranks divide everything a slot is 1/q of the whole row of X and
/// column of W, which the other form gathers, and copies once more where rows
/// of the memory are not whole. There are two of each, of two ranks a side one.
TEST(Panels, TakeLessThanWhatIsGathered) {
  Random random(11);
  for (int64_t q : {2, 3, 4}) {
    Mesh mesh({{"x", q}, {"y", q}});
    int64_t size = 4 * q;
    int64_t gathered = 2 * size * size / q;
    EXPECT_EQ(
        Fraction(measure("Summa2d", mesh, size, size, size, true, random)),
        Fraction((q == 2 ? 1 : 2) * gathered, q));
    EXPECT_GT(measure("Gather2d", mesh, size, size, size, true, random),
              gathered);
  }
}

/// Not lcm(x, y) of them: x + y - gcd(x, y).
TEST(Panels, AreFewWhereBlocksDivide) {
  for (int64_t x : {2, 3, 4, 6})
    for (int64_t y : {2, 3, 4, 6}) {
      Mesh mesh({{"x", x}, {"y", y}});
      std::vector<int64_t> sizes;
      for (const Panel &panel : parplan::getPanels(24, {{0}, {1}}, mesh))
        sizes.push_back(panel.size);
      EXPECT_EQ(sizes, getPanelSizes(24, x, y));
      EXPECT_EQ(static_cast<int64_t>(sizes.size()), x + y - std::gcd(x, y));
    }
}

} // namespace
