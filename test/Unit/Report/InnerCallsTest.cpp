//===- InnerCallsTest.cpp - What an op itself communicates ----------------===//

#include "lib/Report/InnerCalls.h"

#include "gmock/gmock.h"

using namespace parplan;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

Mesh makeMesh(std::vector<int64_t> sizes) {
  std::vector<MeshAxis> axes;
  for (int64_t size : sizes)
    axes.push_back({"tp" + std::to_string(axes.size()), size});
  return Mesh(std::move(axes));
}

/// An op whose values have the dimensions of its rule, four bytes an element.
struct Instance {
  PlanningProblem problem;
  PlanningOp op;

  Instance(std::vector<Factor> factors, std::vector<std::vector<int>> operands,
           std::vector<std::vector<int>> results) {
    op.rule.factors.assign(factors.begin(), factors.end());
    for (const std::vector<int> &operand : operands) {
      op.operands.push_back(addValue(operand));
      op.rule.operands.push_back(getFactors(operand));
    }
    for (const std::vector<int> &result : results) {
      op.results.push_back(addValue(result));
      op.rule.results.push_back(getFactors(result));
    }
  }

  std::vector<std::string> getCalls(const FactorAssignment &assignment,
                                    const Mesh &mesh) const {
    std::vector<std::string> lines;
    for (const PanelCall &call : getInnerCalls(problem, op, assignment, mesh)) {
      std::string line(stringifyCollectiveKind(call.kind));
      for (int axis : call.axes)
        line += " " + mesh.getAxis(axis).name;
      lines.push_back(line + ": " + std::to_string(call.count) + " of " +
                      std::to_string(call.bytes));
    }
    return lines;
  }

private:
  int addValue(const std::vector<int> &tensor) {
    PlanningValue &value = problem.values.emplace_back();
    for (int factor : tensor)
      value.shape.push_back(op.rule.factors[factor].size);
    return static_cast<int>(problem.values.size()) - 1;
  }
  static TensorFactors getFactors(const std::vector<int> &tensor) {
    TensorFactors factors;
    for (int factor : tensor)
      factors.push_back({factor});
    return factors;
  }
};

/// `mk,kn->mn` of 4 x 6 by 6 x 8.
Instance makeProduct() {
  return Instance({{"m", 4}, {"n", 8}, {"k", 6, FactorKind::reduceSum}},
                  {{0, 2}, {2, 1}}, {{0, 1}});
}

TEST(InnerCalls, PanelsOfOperandsAreBroadcast) {
  Instance product = makeProduct();
  FactorAssignment summa = FactorAssignment::getReplicated(product.op.rule);
  summa.axes[0] = {0};
  summa.axes[1] = {1};
  summa.panels = {2, {0, 1}};
  // X is [m:2, k:2], W [k:2, n:2]: panels of three.
  EXPECT_THAT(product.getCalls(summa, makeMesh({2, 2})),
              ElementsAre("broadcast tp1: 2 of 24", "broadcast tp0: 2 of 48"));
  // Boundaries at 3 and at 2, 4: widths 2, 1, 1, 2.
  EXPECT_THAT(product.getCalls(summa, makeMesh({2, 3})),
              ElementsAre("broadcast tp1: 2 of 8", "broadcast tp1: 2 of 16",
                          "broadcast tp0: 2 of 12", "broadcast tp0: 2 of 24"));
}

TEST(InnerCalls, PanelsOfAResultAreReduced) {
  Instance product = makeProduct();
  FactorAssignment summa = FactorAssignment::getReplicated(product.op.rule);
  summa.axes[0] = {0};
  summa.axes[2] = {1};
  summa.panels = {1, {0, 1}};
  EXPECT_THAT(product.getCalls(summa, makeMesh({2, 2})),
              ElementsAre("broadcast tp0: 2 of 48", "reduce tp1: 2 of 32"));
}

/// Attention by its factors: queries [s, e], keys and values [t, e].
Instance makeAttention(std::vector<std::vector<int>> results) {
  Instance attention({{"s", 8}, {"t", 8, FactorKind::coupled}, {"e", 4}},
                     {{0, 2}, {1, 2}, {1, 2}}, std::move(results));
  attention.op.sequenceFactor = 0;
  attention.op.keyFactor = 1;
  return attention;
}

TEST(InnerCalls, KeysAndValuesGoRound) {
  Instance attention = makeAttention({{0, 2}});
  FactorAssignment ring = FactorAssignment::getReplicated(attention.op.rule);
  ring.axes[0] = {0};
  ring.panels = {1, {0}};
  EXPECT_THAT(attention.getCalls(ring, makeMesh({4})),
              ElementsAre("send tp0: 3 of 32", "send tp0: 3 of 32"));
}

TEST(InnerCalls, GradientsOfKeysComeHome) {
  Instance gradient = makeAttention({{0, 2}, {1, 2}, {1, 2}});
  FactorAssignment ring = FactorAssignment::getReplicated(gradient.op.rule);
  ring.axes[0] = {0};
  ring.panels = {1, {0}};
  EXPECT_THAT(gradient.getCalls(ring, makeMesh({4})),
              ElementsAre("send tp0: 3 of 32", "send tp0: 3 of 32",
                          "send tp0: 4 of 32", "send tp0: 4 of 32"));
}

TEST(InnerCalls, ReductionsOverSplitNormsHaveTheirRows) {
  Instance norm({{"d0", 6}, {"d1", 8, FactorKind::coupled}}, {{0, 1}},
                {{0, 1}});
  norm.op.coupledReductions = 2;
  FactorAssignment split = FactorAssignment::getReplicated(norm.op.rule);
  split.axes[0] = {0};
  split.axes[1] = {1};
  EXPECT_THAT(norm.getCalls(split, makeMesh({2, 2})),
              ElementsAre("all_reduce tp1: 2 of 12"));
}

TEST(InnerCalls, AreNoneWithoutALoop) {
  Instance product = makeProduct();
  FactorAssignment gather = FactorAssignment::getReplicated(product.op.rule);
  gather.axes[0] = {0};
  gather.axes[1] = {1};
  EXPECT_THAT(product.getCalls(gather, makeMesh({2, 2})), IsEmpty());
}

} // namespace
