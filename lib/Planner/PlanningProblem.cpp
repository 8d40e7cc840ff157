//===- PlanningProblem.cpp - Completeness of a problem --------------------===//

#include "parplan/Planner/PlanningProblem.h"

using namespace parplan;

/// Product of the factor sizes of a dimension.
static int64_t getSize(const ShardingRule &rule, const DimFactors &dim) {
  int64_t size = 1;
  for (int factor : dim)
    size *= rule.factors[factor].size;
  return size;
}

std::optional<std::string>
parplan::verifyProblem(const PlanningProblem &problem) {
  std::vector<bool> exists;
  for (const PlanningValue &value : problem.values)
    exists.push_back(value.kind != ValueKind::activation);
  int count = static_cast<int>(problem.values.size());

  for (const PlanningOp &op : problem.ops) {
    auto fail = [&](const std::string &what) {
      return "operator '" + op.node + "' (" + op.type + "): " + what;
    };
    if (op.rule.operands.size() != op.operands.size() ||
        op.rule.results.size() != op.results.size())
      return fail("its rule is of another number of operands or results");
    auto fits = [&](const TensorFactors &tensor, int value) {
      const auto &shape = problem.values[value].shape;
      if (tensor.size() != shape.size())
        return false;
      for (auto [dim, size] : llvm::zip_equal(tensor, shape))
        if (!dim.empty() && getSize(op.rule, dim) != size)
          return false;
      return true;
    };
    for (auto [tensor, operand] :
         llvm::zip_equal(op.rule.operands, op.operands)) {
      if (operand < 0 || operand >= count || !exists[operand])
        return fail("reads a value before it is produced");
      if (!fits(tensor, operand))
        return fail("its rule does not fit the shape of '" +
                    problem.values[operand].name + "'");
    }
    for (auto [tensor, result] : llvm::zip_equal(op.rule.results, op.results)) {
      if (result < 0 || result >= count || exists[result])
        return fail("produces a value that exists");
      if (!fits(tensor, result))
        return fail("its rule does not fit the shape of '" +
                    problem.values[result].name + "'");
      exists[result] = true;
    }
  }
  return std::nullopt;
}
