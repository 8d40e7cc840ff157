//===- Candidates.cpp - Assignments of an op and their names --------------===//

#include "parplan/Planner/Candidates.h"

using namespace parplan;

llvm::StringRef parplan::stringifyAlgorithm(Algorithm algorithm) {
  switch (algorithm) {
  case Algorithm::replicate:
    return "replicate";
  case Algorithm::row:
    return "row";
  case Algorithm::column:
    return "column";
  case Algorithm::local:
    return "local";
  }
  return "local";
}

std::optional<Algorithm> parplan::parseAlgorithm(llvm::StringRef text) {
  for (Algorithm algorithm : {Algorithm::replicate, Algorithm::row,
                              Algorithm::column, Algorithm::local})
    if (text == stringifyAlgorithm(algorithm))
      return algorithm;
  return std::nullopt;
}

bool parplan::isProduct(const PlanningOp &op) {
  return op.type == "MatMul" || op.type == "Gemm" || op.type == "Conv";
}

static bool hasFactor(const TensorFactors &tensor, int factor) {
  return llvm::any_of(tensor, [&](const DimFactors &dim) {
    return llvm::is_contained(dim, factor);
  });
}

/// The operand that a product treats as its weight.
static int getWeightOperand(const PlanningOp &op) {
  int last = std::min<int>(static_cast<int>(op.operands.size()), 2) - 1;
  if (op.batchFactor < 0)
    return last;
  for (int operand = last; operand >= 0; --operand)
    if (!hasFactor(op.rule.operands[operand], op.batchFactor))
      return operand;
  return last;
}

Algorithm parplan::getAlgorithm(const PlanningOp &op,
                                const FactorAssignment &assignment,
                                const Mesh &mesh) {
  bool any = false, onContracted = false, onWeight = false;
  for (auto [factor, axes] : llvm::enumerate(assignment.axes)) {
    bool tensor = llvm::any_of(axes, [&](int axis) {
      return mesh.getAxis(axis).role != AxisRole::data;
    });
    if (!tensor)
      continue;
    any = true;
    int index = static_cast<int>(factor);
    if (op.rule.factors[factor].kind == FactorKind::reduceSum)
      onContracted = true;
    else if (isProduct(op) &&
             hasFactor(op.rule.operands[getWeightOperand(op)], index))
      onWeight = true;
  }
  if (!any)
    return Algorithm::replicate;
  if (!isProduct(op))
    return Algorithm::local;
  return onContracted ? Algorithm::row
         : onWeight   ? Algorithm::column
                      : Algorithm::local;
}

/// Pairs of neighbouring factors of one dimension: a list of axes may fill the
/// first and go on in the second.
static llvm::SmallVector<std::pair<int, int>>
getNeighbours(const ShardingRule &rule) {
  llvm::SmallVector<std::pair<int, int>> pairs;
  auto visit = [&](const TensorFactors &tensor) {
    for (const DimFactors &dim : tensor)
      for (size_t i = 0; i + 1 < dim.size(); ++i)
        if (!llvm::is_contained(pairs, std::make_pair(dim[i], dim[i + 1])))
          pairs.emplace_back(dim[i], dim[i + 1]);
  };
  llvm::for_each(rule.operands, visit);
  llvm::for_each(rule.results, visit);
  return pairs;
}

static bool maySplit(const Factor &factor) {
  return factor.kind != FactorKind::blocked &&
         factor.kind != FactorKind::coupled && factor.size > 1;
}

static AxisList getTensorAxes(const Mesh &mesh) {
  AxisList axes;
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
    if (mesh.getAxis(axis).role != AxisRole::data)
      axes.push_back(axis);
  return axes;
}

llvm::SmallVector<size_t> parplan::getAxisCounts(const PlanningProblem &problem,
                                                 const Mesh &mesh) {
  AxisList axes = getTensorAxes(mesh);
  llvm::SmallVector<size_t> counts;
  if (!axes.empty())
    counts.push_back(axes.size());
  for (const PlanningOp &op : problem.ops)
    for (const Factor &factor : op.rule.factors) {
      size_t count = axes.size();
      while (count > 0 && mesh.getWidth(llvm::ArrayRef(axes).take_front(
                              count)) > factor.size)
        --count;
      if (count > 0 && !llvm::is_contained(counts, count))
        counts.push_back(count);
    }
  llvm::sort(counts, std::greater<>());
  return counts;
}

std::vector<FactorAssignment>
parplan::getAssignments(const PlanningOp &op, const Mesh &mesh,
                        llvm::ArrayRef<size_t> axisCounts) {
  AxisList dataAxes, tensorAxes = getTensorAxes(mesh);
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
    if (mesh.getAxis(axis).role == AxisRole::data)
      dataAxes.push_back(axis);

  FactorAssignment base = FactorAssignment::getReplicated(op.rule);
  if (op.batchFactor >= 0 && maySplit(op.rule.factors[op.batchFactor])) {
    base.axes[op.batchFactor] = dataAxes;
    if (verifyAssignment(op.rule, base, mesh))
      base.axes[op.batchFactor].clear();
  }

  std::vector<FactorAssignment> assignments = {base};
  auto consider = [&](FactorAssignment assignment) {
    if (!verifyAssignment(op.rule, assignment, mesh) &&
        !llvm::is_contained(assignments, assignment))
      assignments.push_back(std::move(assignment));
  };
  for (size_t count : axisCounts) {
    AxisList axes(tensorAxes.begin(), tensorAxes.begin() + count);
    for (auto [factor, description] : llvm::enumerate(op.rule.factors)) {
      if (static_cast<int>(factor) == op.batchFactor ||
          !maySplit(description) || mesh.getWidth(axes) > description.size)
        continue;
      FactorAssignment assignment = base;
      assignment.axes[factor] = axes;
      consider(std::move(assignment));
    }
    for (auto [major, minor] : getNeighbours(op.rule)) {
      if (major == op.batchFactor || minor == op.batchFactor ||
          !maySplit(op.rule.factors[major]) ||
          !maySplit(op.rule.factors[minor]))
        continue;
      for (size_t cut = 1; cut < count; ++cut) {
        FactorAssignment assignment = base;
        assignment.axes[major] = AxisList(axes.begin(), axes.begin() + cut);
        assignment.axes[minor] = AxisList(axes.begin() + cut, axes.end());
        consider(std::move(assignment));
      }
    }
  }
  return assignments;
}

Mesh parplan::makeMesh(int64_t data, int64_t tensor) {
  std::vector<MeshAxis> axes;
  if (data > 1)
    axes.push_back({"dp0", data, AxisRole::data});
  std::vector<int64_t> primes;
  for (int64_t prime = 2; tensor > 1; ++prime)
    for (; tensor % prime == 0; tensor /= prime)
      primes.push_back(prime);
  for (auto [index, prime] : llvm::enumerate(llvm::reverse(primes)))
    axes.push_back({"tp" + std::to_string(index), prime, AxisRole::tensor});
  return Mesh(std::move(axes));
}
