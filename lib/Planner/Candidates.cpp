//===- Candidates.cpp - Assignments of an op and their names --------------===//

#include "parplan/Planner/Candidates.h"

#include "parplan/Support/Check.h"

using namespace parplan;

llvm::StringRef parplan::stringifyAlgorithm(Algorithm algorithm) {
  switch (algorithm) {
  case Algorithm::replicate:
    return "replicate";
  case Algorithm::row:
    return "row";
  case Algorithm::column:
    return "column";
  case Algorithm::summa2d:
    return "summa2d";
  case Algorithm::gather2d:
    return "gather2d";
  case Algorithm::tensor2_5d:
    return "2.5d";
  case Algorithm::tensor3d:
    return "3d";
  case Algorithm::expert:
    return "expert";
  case Algorithm::local:
    return "local";
  case Algorithm::ring:
    return "ring";
  case Algorithm::allToAll:
    return "all-to-all";
  case Algorithm::gather:
    return "gather";
  }
  PARPLAN_UNREACHABLE("unknown algorithm ", static_cast<int>(algorithm));
}

std::optional<Algorithm> parplan::parseAlgorithm(llvm::StringRef text) {
  for (Algorithm algorithm : allAlgorithms)
    if (text == stringifyAlgorithm(algorithm))
      return algorithm;
  return std::nullopt;
}

bool parplan::isProduct(const PlanningOp &op) {
  return op.role == OpRole::forward && op.isLeader &&
         (op.type == "MatMul" || op.type == "Gemm" || op.type == "Conv");
}

bool parplan::mayReadPending(const PlanningOp &op) {
  return op.isLeader && op.role != OpRole::forward &&
         op.rule.linearity == Linearity::jointly;
}

std::vector<bool> parplan::findStorable(const PlanningProblem &problem) {
  std::vector<bool> isTrained(problem.values.size(), false);
  for (const PlanningValue &value : problem.values)
    if (value.updates >= 0)
      isTrained[value.updates] = true;
  std::vector<bool> storable;
  for (const PlanningOp &op : problem.ops) {
    bool isOfParameter = op.accumulates || op.role == OpRole::gradientSum ||
                         op.role == OpRole::optimizer;
    bool isCast = op.role == OpRole::forward && op.operands.size() == 1 &&
                  isTrained[op.operands[0]];
    bool hasDimensions =
        llvm::any_of(op.rule.results, [](const TensorFactors &tensor) {
          return !tensor.empty();
        });
    storable.push_back(op.isLeader && op.rule.flat && op.batchFactor < 0 &&
                       hasDimensions && (isOfParameter || isCast));
    if (isCast && storable.back())
      isTrained[op.results[0]] = true;
  }
  return storable;
}

bool parplan::isUpdate(const PlanningProblem &problem, const PlanningOp &op) {
  return llvm::any_of(op.results, [&](int result) {
    int variable = problem.values[result].updates;
    return variable >= 0 &&
           problem.values[variable].kind == ValueKind::parameter;
  });
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

static bool maySplit(const PlanningOp &op, const Factor &factor) {
  if (factor.kind == FactorKind::coupled && op.coupledReductions == 0)
    return false;
  return factor.kind != FactorKind::blocked && factor.size > 1;
}

static AxisList getAxes(const Mesh &mesh, bool isData) {
  AxisList axes;
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
    if ((mesh.getAxis(axis).role == AxisRole::data) == isData)
      axes.push_back(axis);
  return axes;
}

AxisList parplan::getDataAxes(const Mesh &mesh) {
  return getAxes(mesh, /*isData=*/true);
}

AxisList parplan::getTensorAxes(const Mesh &mesh) {
  return getAxes(mesh, /*isData=*/false);
}

llvm::SmallVector<size_t> parplan::getAxisCounts(const PlanningProblem &problem,
                                                 const Mesh &mesh) {
  AxisList axes = getTensorAxes(mesh);
  llvm::SmallVector<size_t> counts;
  if (!axes.empty())
    counts.push_back(axes.size());
  for (const PlanningOp &op : problem.ops)
    for (const Factor &factor : op.rule.factors) {
      if (op.role != OpRole::forward)
        break;
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

llvm::SmallVector<AxisList> parplan::getStorageLists(const Mesh &mesh) {
  AxisList dataAxes = getDataAxes(mesh);
  llvm::SmallVector<AxisList> lists;
  if (!dataAxes.empty())
    lists.push_back(dataAxes);
  if (dataAxes.size() > 1)
    lists.push_back({dataAxes.back()});
  return lists;
}

/// Sets of axes over which an op may read pending, before those are dropped
/// that it uses: the data axes, the first tensor axes, both.
static llvm::SmallVector<AxisList>
getPendingLists(const PlanningOp &op, const AxisList &dataAxes,
                const AxisList &tensorAxes, llvm::ArrayRef<size_t> axisCounts) {
  llvm::SmallVector<AxisList> lists = {{}};
  if (!mayReadPending(op))
    return lists;
  auto add = [&](size_t count) {
    AxisList first(tensorAxes.begin(), tensorAxes.begin() + count);
    AxisList both = dataAxes;
    llvm::append_range(both, first);
    lists.push_back(std::move(first));
    lists.push_back(std::move(both));
  };
  add(0);
  llvm::for_each(axisCounts, add);
  return lists;
}

std::vector<FactorAssignment>
parplan::getAssignments(const PlanningOp &op, const Mesh &mesh,
                        llvm::ArrayRef<size_t> axisCounts, bool isStorable) {
  AxisList dataAxes = getDataAxes(mesh), tensorAxes = getTensorAxes(mesh);
  FactorAssignment base = FactorAssignment::getReplicated(op.rule);
  if (op.batchFactor >= 0 && maySplit(op, op.rule.factors[op.batchFactor])) {
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
          !maySplit(op, description) || mesh.getWidth(axes) > description.size)
        continue;
      FactorAssignment assignment = base;
      assignment.axes[factor] = axes;
      consider(std::move(assignment));
    }
    for (auto [major, minor] : getNeighbours(op.rule)) {
      if (major == op.batchFactor || minor == op.batchFactor ||
          !maySplit(op, op.rule.factors[major]) ||
          !maySplit(op, op.rule.factors[minor]))
        continue;
      for (size_t cut = 1; cut < count; ++cut) {
        FactorAssignment assignment = base;
        assignment.axes[major] = AxisList(axes.begin(), axes.begin() + cut);
        assignment.axes[minor] = AxisList(axes.begin() + cut, axes.end());
        consider(std::move(assignment));
      }
    }
  }
  llvm::SmallVector<AxisList> storageLists = {{}};
  if (isStorable)
    llvm::append_range(storageLists, getStorageLists(mesh));
  // By index: `consider` adds behind what is looked at.
  for (size_t index = 0, count = assignments.size(); index < count; ++index)
    for (const AxisList &stored : storageLists)
      for (const AxisList &pending :
           getPendingLists(op, dataAxes, tensorAxes, axisCounts)) {
        FactorAssignment assignment = assignments[index];
        assignment.storage = stored;
        llvm::copy_if(
            pending, std::back_inserter(assignment.pending), [&](int axis) {
              return !llvm::is_contained(stored, axis) &&
                     llvm::none_of(assignment.axes, [&](const AxisList &axes) {
                       return llvm::is_contained(axes, axis);
                     });
            });
        consider(std::move(assignment));
      }
  return assignments;
}

Mesh parplan::makeMesh(int64_t data, int64_t tensor, int64_t innerData) {
  std::vector<MeshAxis> axes;
  if (data % innerData != 0)
    innerData = 1;
  for (int64_t size : {data / innerData, innerData})
    if (size > 1)
      axes.push_back(
          {"dp" + std::to_string(axes.size()), size, AxisRole::data});
  std::vector<int64_t> primes;
  for (int64_t prime = 2; tensor > 1; ++prime)
    for (; tensor % prime == 0; tensor /= prime)
      primes.push_back(prime);
  for (auto [index, prime] : llvm::enumerate(llvm::reverse(primes)))
    axes.push_back({"tp" + std::to_string(index), prime, AxisRole::tensor});
  return Mesh(std::move(axes));
}
