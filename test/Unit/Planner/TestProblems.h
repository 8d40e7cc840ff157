//===- TestProblems.h - Small graphs to plan --------------------*- C++ -*-===//

#ifndef PARPLAN_TEST_UNIT_PLANNER_TESTPROBLEMS_H
#define PARPLAN_TEST_UNIT_PLANNER_TESTPROBLEMS_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanningProblem.h"

namespace parplan::test {

/// Costs with simple numbers: a second per 1,000 operations and per 1,000 bytes
/// of a collective, and a thousandth of that for copies.
class SimpleCosts : public PlanCosts {
public:
  double getOpSeconds(const OpCost &cost) const override {
    return cost.flops / 1000;
  }
  double getCollectiveSeconds(MoveKind, const Mesh &, llvm::ArrayRef<int>,
                              int64_t bytes) const override {
    return 0.001 + static_cast<double>(bytes) / 1000;
  }
  double getCopySeconds(int64_t bytes) const override {
    return static_cast<double>(bytes) / 1e6;
  }
};

/// Builds graphs op by op; values are named by their number.
class ProblemBuilder {
public:
  PlanningProblem problem;

  int addInput(llvm::ArrayRef<int64_t> shape);
  int addParameter(llvm::ArrayRef<int64_t> shape);
  /// [m, k] times [k, n]; m is the batch when the left-hand side carries it.
  int addProduct(int lhs, int rhs, const std::string &node = "product");
  /// Elementwise sum of two values of one shape.
  int addSum(int lhs, int rhs);
  void markOutput(int value) { problem.values[value].isOutput = true; }

private:
  int addValue(ValueKind kind, llvm::ArrayRef<int64_t> shape);
};

/// Two products after each other: column and row parallel with one all-reduce.
PlanningProblem makeMlp(int64_t batch, int64_t width, int64_t hidden);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PLANNER_TESTPROBLEMS_H
