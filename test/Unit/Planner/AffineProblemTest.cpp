//===- AffineProblemTest.cpp - Problems that differ in sizes alone --------===//

#include "TestProblems.h"

#include "parplan/Planner/AffineProblem.h"
#include "parplan/Planner/ProblemFile.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// [n, 16] -> norm -> product, and a norm of [2, 16].
PlanningProblem makeProblem(int64_t samples) {
  ProblemBuilder builder;
  int first = builder.addNorm({builder.addInput({samples, 16})});
  int second = builder.addNorm({first});
  int constant = builder.addNorm({builder.addInput({2, 16})});
  builder.markOutput(builder.addProduct(second, builder.addParameter({16, 8})));
  builder.markOutput(constant);
  return std::move(builder.problem);
}

std::optional<AffineProblem> makeLine(const PlanningProblem &one, int64_t first,
                                      const PlanningProblem &other,
                                      int64_t second) {
  std::string reason;
  return AffineProblem::make(one, first, other, second, reason);
}

TEST(AffineProblem, TellsWhatElseDiffers) {
  PlanningProblem other = makeProblem(3);
  other.ops.back().node = "another";
  std::string reason;
  EXPECT_FALSE(AffineProblem::make(makeProblem(2), 2, other, 3, reason));
  EXPECT_NE(reason.find("node is"), std::string::npos) << reason;
  PlanningProblem shorter = makeProblem(3);
  shorter.ops.pop_back();
  EXPECT_FALSE(makeLine(makeProblem(2), 2, shorter, 3));
  EXPECT_FALSE(makeLine(shorter, 2, makeProblem(3), 3));
}

TEST(AffineProblem, HasNoVariablesThatGrow) {
  auto makeGrowing = [](int64_t size) {
    ProblemBuilder builder;
    builder.markOutput(builder.addProduct(builder.addInput({2, size}),
                                          builder.addParameter({size, 8})));
    return std::move(builder.problem);
  };
  std::string reason;
  EXPECT_FALSE(
      AffineProblem::make(makeGrowing(2), 2, makeGrowing(3), 3, reason));
  EXPECT_NE(reason.find("is a variable and grows"), std::string::npos)
      << reason;
}

TEST(AffineProblem, HasNoPartsOfSizes) {
  auto line = makeLine(makeProblem(2), 2, makeProblem(4), 6);
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->isWhole(4));
  EXPECT_TRUE(line->get(4));
  auto steep = makeLine(makeProblem(2), 2, makeProblem(3), 10);
  ASSERT_TRUE(steep);
  EXPECT_FALSE(steep->isWhole(3));
  EXPECT_FALSE(steep->get(3));
}

TEST(AffineProblem, LabelsWhatGrowsOtherwise) {
  auto line = makeLine(makeProblem(2), 2, makeProblem(3), 3);
  ASSERT_TRUE(line);
  std::vector<int64_t> labels = line->getLabels();
  ASSERT_EQ(labels.size(), 4u);
  EXPECT_EQ(labels[0], labels[1]) << "both norms have all samples";
  EXPECT_NE(labels[0], labels[2]) << "equal in the base alone";
  EXPECT_NE(labels[0], labels[3]);
}

TEST(AffineProblem, SelectsAPart) {
  PlanningProblem base = makeProblem(2);
  auto line = makeLine(base, 2, makeProblem(3), 3);
  ASSERT_TRUE(line);
  // The product alone, with its operands in another order.
  PlanningOp product = base.ops[3];
  std::vector<int> values = {product.results[0], product.operands[1],
                             product.operands[0]};
  PlanningProblem part;
  for (int value : values)
    part.values.push_back(base.values[value]);
  product.results = {0};
  product.operands = {2, 1};
  part.ops = {product};
  auto found = line->select(part, values, {3}).get(5);
  ASSERT_TRUE(found);
  PlanningProblem whole = makeProblem(5);
  for (auto [number, value] : llvm::enumerate(values))
    EXPECT_EQ(found->values[number].shape, whole.values[value].shape);
  EXPECT_EQ(found->ops[0].rule.factors, whole.ops[3].rule.factors);
}

} // namespace
