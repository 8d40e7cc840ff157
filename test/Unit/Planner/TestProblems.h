//===- TestProblems.h - Small graphs to plan --------------------*- C++ -*-===//

#ifndef PARPLAN_TEST_UNIT_PLANNER_TESTPROBLEMS_H
#define PARPLAN_TEST_UNIT_PLANNER_TESTPROBLEMS_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanningProblem.h"
#include "parplan/Planner/Solver.h"

#include <functional>

namespace parplan::test {

/// Costs with simple numbers: a second per 1,000 operations and per 1,000 bytes
/// of a collective, and a thousandth of that for copies.
class SimpleCosts : public PlanCosts {
public:
  using PlanCosts::getCollectiveSeconds;
  using PlanCosts::getOpSeconds;
  double getOpSeconds(const OpCost &cost) const override {
    return cost.flops / 1000;
  }
  double getLeastOpSeconds(const OpCost &cost) const override {
    return getOpSeconds(cost);
  }
  double getCollectiveSeconds(CollectiveKind, const Mesh &, llvm::ArrayRef<int>,
                              int64_t bytes) const override {
    return 0.001 + static_cast<double>(bytes) / 1000;
  }
  double getCopySeconds(int64_t bytes) const override {
    return static_cast<double>(bytes) / 1e6;
  }
};

/// Ops of few operations take less for each of them than larger ones.
class FasterInParts : public SimpleCosts {
public:
  explicit FasterInParts(double mostFlops) : mostFlops(mostFlops) {}

  double getOpSeconds(const OpCost &cost) const override {
    return (cost.flops <= mostFlops ? share : 1) * cost.flops / 1000;
  }
  double getLeastOpSeconds(const OpCost &cost) const override {
    return share * cost.flops / 1000;
  }

private:
  static constexpr double share = 0.7;
  double mostFlops;
};

/// Builds graphs op by op; values are named by their number.
class ProblemBuilder {
public:
  PlanningProblem problem;

  ProblemBuilder() = default;
  explicit ProblemBuilder(PlanningProblem problem)
      : problem(std::move(problem)) {}

  int addInput(llvm::ArrayRef<int64_t> shape);
  /// An input whose second dimension is a sequence.
  int addTokens(llvm::ArrayRef<int64_t> shape);
  int addParameter(llvm::ArrayRef<int64_t> shape);
  /// [m, k] times [k, n]; m is the batch when the left-hand side carries it.
  int addProduct(int lhs, int rhs, const std::string &node = "product");
  /// Elementwise sum of two values of one shape.
  int addSum(int lhs, int rhs);
  /// A product by letters, as "mk" "kn" -> "mn"; letters that the result lacks
  /// are contracted. The batch is the letter of an operand's batch dimension.
  int addContraction(int lhs, const std::string &left, int rhs,
                     const std::string &right, const std::string &result);
  /// An elementwise op of equal shapes; linear ones read all terms pending.
  int addElementwise(llvm::ArrayRef<int> operands,
                     Linearity linearity = Linearity::none);
  /// Elementwise but for the last dimension, which is coupled, at the price of
  /// some reductions if it may be split.
  int addNorm(llvm::ArrayRef<int> operands, int reductions = 0);
  /// Attention of [b, s, heads * e] queries to [b, t, keyHeads * e] keys.
  int addAttention(int query, int key, int value, int64_t keyHeads);
  /// [t, d] tokens to [experts, t, d] and back.
  int addDispatch(int tokens, int64_t experts);
  int addCombine(int values);
  /// The sum of squares, as part of the group of an update.
  int addSquareSum(int value, int64_t group);
  /// The sum over all micro-batches of a value.
  int addAccumulate(int value);
  /// The update of a parameter and of `stateCount` states.
  void addUpdate(int parameter, int gradient, int stateCount = 1);

  /// A product of two dimensions each, and for the gradient of its result those
  /// of its operands: the result, and a function that adds its backward ops and
  /// gives the gradients of both.
  struct Layer {
    int result;
    std::function<std::pair<int, int>(int gradient)> addBackward;
  };
  Layer addLayer(int input, int weight);
  Layer addNormLayer(int input);
  /// An elementwise op whose gradient reads its input, too, unless it is
  /// linear.
  Layer addElementwiseLayer(int input, bool isLinear);
  /// A column of [rows, 1] in every column of `like`, of the forward pass.
  int addSpread(int column, int like);
  /// The product of elements, of which `factor` has no gradient.
  Layer addScaledLayer(int input, int factor);

  /// Sets the group and the role of the last op.
  void setRole(OpRole role, int64_t group = -1);

  void markOutput(int value) { problem.values[value].isOutput = true; }

private:
  int addValue(ValueKind kind, llvm::ArrayRef<int64_t> shape);
  int addOp(PlanningOp op, llvm::ArrayRef<int64_t> shape);
  int64_t nextGroup = 0;
};

/// Two products after each other: column and row parallel with one all-reduce.
PlanningProblem makeMlp(int64_t batch, int64_t width, int64_t hidden);

/// What `choosePlan` chooses for one problem, in the usual way or by last
/// resorts, whose programs need what estimates say. Without an answer, what the
/// first search said.
PlanResult choosePlanOf(const PlanningProblem &problem,
                        const PlanRequest &request, const PlanCosts &costs);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PLANNER_TESTPROBLEMS_H
