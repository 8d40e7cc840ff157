//===- ReshapeTest.cpp - Which splits a reshape keeps (S10) ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestMeshes.h"

#include "parplan/Sharding/Blocks.h"
#include "parplan/Sharding/ShardingRule.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace parplan;
using namespace parplan::test;

namespace {

using Shape = llvm::SmallVector<int64_t>;

/// `f0=4 f1=6: [f0][f1] -> [f0 f1]`; blocked factors have an exclamation mark.
std::string print(const ShardingRule &rule) {
  std::string text;
  for (const Factor &factor : rule.factors)
    text += factor.name + "=" + std::to_string(factor.size) +
            (factor.kind == FactorKind::blocked ? "! " : " ");
  auto printTensor = [&](const TensorFactors &tensor) {
    for (const DimFactors &dim : tensor) {
      text += "[";
      for (int factor : dim)
        text += (factor == dim.front() ? "" : " ") + rule.factors[factor].name;
      text += "]";
    }
  };
  text += ": ";
  printTensor(rule.operands[0]);
  text += " -> ";
  printTensor(rule.results[0]);
  return text;
}

TEST(ReshapeRule, IsTheCommonRefinement) {
  struct {
    Shape from, to;
    const char *rule;
  } cases[] = {
      {{4, 6}, {4, 6}, "f0=4 f1=6 : [f0][f1] -> [f0][f1]"},
      {{4, 6}, {24}, "f0=4 f1=6 : [f0][f1] -> [f0 f1]"},
      {{24}, {4, 6}, "f0=4 f1=6 : [f0 f1] -> [f0][f1]"},
      {{2, 6}, {4, 3}, "f0=2 f1=2 f2=3 : [f0][f1 f2] -> [f0 f1][f2]"},
      {{2, 3, 4}, {6, 4}, "f0=2 f1=3 f2=4 : [f0][f1][f2] -> [f0 f1][f2]"},
      {{5, 8, 7},
       {5, 2, 4, 7},
       "f0=5 f1=2 f2=4 f3=7 : [f0][f1 f2][f3] -> [f0][f1][f2][f3]"},
      {{1, 4, 1, 6, 1}, {4, 6}, "f0=4 f1=6 : [][f0][][f1][] -> [f0][f1]"},
      {{4}, {1, 1, 4}, "f0=4 : [f0] -> [][][f0]"},
      {{}, {1, 1}, ":  -> [][]"},
      {{4, 6},
       {6, 4},
       "f0=2 f1=2! f2=3! f3=6! f4=4! : [f0 f1][f3] -> [f0 f2][f4]"},
      {{3, 4, 5},
       {4, 3, 5},
       "f0=3! f1=4! f2=4! f3=3! f4=5 : [f0][f2][f4] -> [f1][f3][f4]"},
      {{0, 4}, {4, 0, 1}, "f0=0! f1=4! f2=4! f3=0! : [f0][f1] -> [f2][f3][]"},
  };
  for (const auto &entry : cases) {
    ShardingRule rule = getReshapeRule(entry.from, entry.to);
    EXPECT_EQ(print(rule), entry.rule);
    EXPECT_EQ(verifyRule(rule, {entry.from}, {entry.to}), std::nullopt);
    EXPECT_EQ(rule.linearity, Linearity::jointly);
  }
}

/// Blocks of every rank of 0, 1, 2, ... in `sharding`.
std::vector<Bytes> getBlocks(const Mesh &mesh, const Shape &shape,
                             const Sharding &sharding) {
  TensorLayout tensor{shape, 1};
  Bytes global(tensor.getByteCount());
  std::iota(global.begin(), global.end(), 1);
  std::vector<Bytes> blocks;
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
    blocks.push_back(shardTensor(mesh, tensor, sharding, rank, global));
  return blocks;
}

bool divides(const Mesh &mesh, const Shape &shape, const Sharding &sharding) {
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (shape[dim] % mesh.getWidth(sharding.dims[dim]) != 0)
      return false;
  return true;
}

/// A sharding of the operand is a use layout of the rule exactly when some
/// sharding of the result leaves every block as it is, and then the made layout
/// is such a sharding.
TEST(ReshapeRule, S10IsSoundAndCompleteAgainstBruteForce) {
  const std::pair<Shape, Shape> cases[] = {
      {{4, 6}, {24}},       {{24}, {4, 6}},       {{2, 3, 4}, {6, 4}},
      {{2, 3, 4}, {2, 12}}, {{6, 4}, {4, 6}},     {{12}, {3, 4}},
      {{2, 2, 3}, {4, 3}},  {{1, 4, 6}, {4, 6}},  {{2, 6}, {4, 3}},
      {{4, 1, 6}, {4, 6}},  {{12, 2}, {4, 3, 2}}, {{8, 3}, {12, 2}},
      {{2, 9, 2}, {6, 6}},  {{4, 2, 3}, {8, 3}},  {{2, 2, 2, 3}, {4, 6}}};
  int free = 0, total = 0;
  for (llvm::StringRef meshText : {"x=2 y=2", "x=2 y=3", "x=3 y=2"})
    for (const auto &[from, to] : cases) {
      Mesh mesh = makeMesh(meshText);
      ShardingRule rule = getReshapeRule(from, to);
      std::vector<std::pair<Sharding, std::vector<Bytes>>> results;
      for (const Sharding &made : getCompleteShardings(mesh, to.size()))
        if (divides(mesh, to, made))
          results.push_back({made, getBlocks(mesh, to, made)});
      for (const Sharding &use : getCompleteShardings(mesh, from.size())) {
        if (!divides(mesh, from, use))
          continue;
        auto blocks = getBlocks(mesh, from, use);
        auto keepsBlocks = [&](const auto &result) {
          return result.second == blocks;
        };
        FactorAssignment assignment = inferAssignment(rule, use, mesh);
        bool accepted = getUseSharding(rule, assignment, 0) == use;
        std::string what = print(rule) + toString(use, mesh);
        EXPECT_EQ(accepted, llvm::any_of(results, keepsBlocks)) << what;
        if (accepted) {
          EXPECT_EQ(getBlocks(mesh, to, getMadeSharding(rule, assignment, 0)),
                    blocks)
              << what;
        }
        free += accepted;
        ++total;
      }
    }
  EXPECT_GT(free, 100);
  EXPECT_GT(total, free);
}

TEST(ReshapeRule, S10PaddedDimensionsPassWhereTheyAreAlone) {
  Mesh mesh = makeMesh("x=2 y=2");
  ShardingRule rule = getReshapeRule({5, 4, 3}, {5, 12});
  FactorAssignment assignment =
      inferAssignment(rule, makeSharding("[{x}, {y}, {}]", mesh), mesh);
  EXPECT_EQ(toString(getMadeSharding(rule, assignment, 0), mesh), "[{x}, {y}]");
}

TEST(ReshapeRule, BatchAndSequenceMergeOnlyWhileSequenceIsWhole) {
  Mesh mesh = makeMesh("x=2 t=2");
  ShardingRule rule = getReshapeRule({4, 8}, {32});
  auto merge = [&](llvm::StringRef text) {
    FactorAssignment assignment =
        inferAssignment(rule, makeSharding(text, mesh), mesh);
    return toString(getMadeSharding(rule, assignment, 0), mesh);
  };
  EXPECT_EQ(merge("[{x}, {}]"), "[{x}]");
  EXPECT_EQ(merge("[{x}, {t}]"), "[{x}]");
  EXPECT_EQ(merge("[{x,t}, {}]"), "[{x,t}]");
}

} // namespace
