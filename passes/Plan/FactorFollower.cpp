//===- FactorFollower.cpp - Batch, sequence and experts -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Plan/FactorFollower.h"

#include <map>

using namespace parplan;

/// The dimension of a tensor whose major factor is `factor`, or -1.
static int findDimension(const TensorFactors &tensor, int factor) {
  if (factor < 0)
    return -1;
  for (auto [dimension, factors] : llvm::enumerate(tensor))
    if (!factors.empty() && factors.front() == factor)
      return static_cast<int>(dimension);
  return -1;
}

/// The major factor of a dimension of a tensor, or -1.
static int getMajorFactor(const TensorFactors &tensor, int dimension) {
  if (dimension < 0 || tensor[dimension].empty())
    return -1;
  return tensor[dimension].front();
}

namespace {

/// Follows one thing that dimensions carry.
class Follower {
public:
  /// `factor` is where ops say which of their factors carries it; `dimensions`
  /// has the dimension of every value, or -1.
  Follower(PlanningProblem &problem, int PlanningOp::*factor,
           std::vector<int> dimensions)
      : problem(problem), factor(factor), dimensions(std::move(dimensions)) {}

  /// In the order of the program.
  void followForward() {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      if (op.*factor < 0)
        op.*factor = findAtOperands(op);
      if (op.*factor < 0 && op.group >= 0 && !op.isLeader)
        op.*factor = findAtLeader(op);
      for (auto [tensor, result] :
           llvm::zip_equal(op.rule.results, op.results)) {
        dimensions[result] = findDimension(tensor, op.*factor);
        if (dimensions[result] < 0 && factor == &PlanningOp::sequenceFactor)
          dimensions[result] = findDimension(tensor, op.keyFactor);
      }
      if (op.group >= 0 && op.isLeader)
        leaders[op.group] = static_cast<int>(index);
    }
  }

  /// From the last op to the first: what an op reads carries it, and so does
  /// what that is made of.
  void followBackward() {
    for (PlanningOp &op : llvm::reverse(problem.ops)) {
      for (auto [tensor, result] : llvm::zip_equal(op.rule.results, op.results))
        if (op.*factor < 0)
          op.*factor = getMajorFactor(tensor, dimensions[result]);
      for (auto [tensor, operand] :
           llvm::zip_equal(op.rule.operands, op.operands))
        if (dimensions[operand] < 0)
          dimensions[operand] = findDimension(tensor, op.*factor);
    }
  }

  const std::vector<int> &getDimensions() const { return dimensions; }

private:
  int findAtOperands(const PlanningOp &op) const {
    for (auto [tensor, operand] :
         llvm::zip_equal(op.rule.operands, op.operands))
      if (int found = getMajorFactor(tensor, dimensions[operand]); found >= 0)
        return found;
    return -1;
  }

  int findAtLeader(const PlanningOp &op) const {
    auto leader = leaders.find(op.group);
    if (leader == leaders.end())
      return -1;
    const PlanningOp &description = problem.ops[leader->second];
    llvm::SmallVector<int> tensors(description.operands.begin(),
                                   description.operands.end());
    llvm::append_range(tensors, description.results);
    for (auto [tensor, result] : llvm::zip_equal(op.rule.results, op.results))
      for (int candidate : tensors) {
        if (problem.values[candidate].shape != problem.values[result].shape)
          continue;
        if (int found = getMajorFactor(tensor, dimensions[candidate]);
            found >= 0)
          return found;
      }
    return -1;
  }

  PlanningProblem &problem;
  int PlanningOp::*factor;
  std::vector<int> dimensions;
  /// Per group its leader, once that was followed.
  std::map<int64_t, int> leaders;
};

} // namespace

void parplan::followFactors(PlanningProblem &problem) {
  auto follow = [&](int PlanningOp::*factor, int PlanningValue::*dimension) {
    std::vector<int> dimensions;
    for (const PlanningValue &value : problem.values)
      dimensions.push_back(value.*dimension);
    Follower follower(problem, factor, std::move(dimensions));
    follower.followForward();
    for (auto [value, found] :
         llvm::zip_equal(problem.values, follower.getDimensions()))
      value.*dimension = found;
  };
  follow(&PlanningOp::batchFactor, &PlanningValue::batchDimension);
  follow(&PlanningOp::sequenceFactor, &PlanningValue::sequenceDimension);

  Follower experts(problem, &PlanningOp::expertFactor,
                   std::vector<int>(problem.values.size(), -1));
  experts.followForward();
  experts.followBackward();
}
