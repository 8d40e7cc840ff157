//===- RestCandidates.cpp - Where values may lie between their uses -------===//

#include "parplan/Planner/SearchSpace.h"

using namespace parplan;

namespace {

/// Collects layouts per value, each once.
class RestCandidates {
public:
  RestCandidates(const PlanningProblem &problem, const Mesh &mesh,
                 const MeshAxes &axes)
      : problem(problem), mesh(mesh), axes(axes), made(problem.values.size()),
        used(problem.values.size()), terms(problem.values.size()) {}

  void addOp(const PlanningOp &op,
             llvm::ArrayRef<FactorAssignment> assignments) {
    for (const FactorAssignment &assignment : assignments) {
      for (auto [position, result] : llvm::enumerate(op.results)) {
        Sharding sharding =
            getMadeSharding(op.rule, assignment, static_cast<int>(position));
        sharding.partial.clear();
        sharding.reduction = ReductionKind::sum;
        addSpread(made[result], op, assignment, op.rule.results[position],
                  sharding);
        add(made[result], std::move(sharding));
        if (problem.values[result].isServed)
          add(terms[result],
              getTerms(getMadeSharding(op.rule, assignment,
                                       static_cast<int>(position))));
      }
      for (auto [position, operand] : llvm::enumerate(op.operands)) {
        Sharding sharding =
            getUseSharding(op.rule, assignment, static_cast<int>(position));
        addSpread(used[operand], op, assignment, op.rule.operands[position],
                  sharding);
        add(used[operand], std::move(sharding));
      }
    }
  }

  std::vector<Sharding> get(int index) const {
    const PlanningValue &value = problem.values[index];
    if (value.kind == ValueKind::input)
      return getInputs(value, used[index]);
    Sharding replicated = Sharding::getReplicated(value.shape.size());
    if (value.kind == ValueKind::constant)
      return {replicated};
    bool isLoaded = value.kind != ValueKind::activation;
    if (value.isServed && isLoaded)
      return {replicated};
    // What workers read as well may lie as it likes.
    if (value.isServed && used[index].empty())
      return terms[index];
    std::vector<Sharding> list;
    for (const Sharding &sharding : made[index])
      add(list, sharding);
    for (const Sharding &sharding : used[index])
      if (!sharding.isPartial() || !(isLoaded || value.isOutput))
        add(list, sharding);
    if (value.kind == ValueKind::parameter)
      addWeightPairs(list, value);
    if (value.isOutput)
      llvm::erase_if(list, [](const Sharding &rest) {
        return rest.isPartial() || rest.isStored();
      });
    if (list.empty())
      list.push_back(replicated);
    return list;
  }

private:
  /// As loaded without tensor axes, and as any op reads it that has the other
  /// axes where loading puts them: a rank loads what it needs.
  std::vector<Sharding> getInputs(const PlanningValue &value,
                                  llvm::ArrayRef<Sharding> uses) const {
    Sharding loaded = getLoadedSharding(value, axes, mesh);
    std::vector<Sharding> list = {loaded};
    for (const Sharding &use : uses) {
      Sharding others = use;
      for (AxisList &dimension : others.dims)
        llvm::erase_if(dimension, [&](int axis) {
          return mesh.getAxis(axis).role == AxisRole::tensor;
        });
      if (others == loaded)
        add(list, use);
    }
    return list;
  }

  /// The layout spread over the tensor axes of a grid that it lacks, along the
  /// factor that a loop over panels would cut, in 3D along the first one.
  void addSpread(std::vector<Sharding> &list, const PlanningOp &op,
                 const FactorAssignment &assignment,
                 const TensorFactors &tensor, Sharding layout) const {
    std::optional<int> along = findSpreadFactor(op, assignment, tensor);
    if (!along)
      return;
    AxisList held = layout.getUsedAxes();
    for (auto [dimension, factors] : llvm::enumerate(tensor)) {
      if (!llvm::is_contained(factors, *along))
        continue;
      for (const AxisList &split : assignment.axes)
        llvm::copy_if(split, std::back_inserter(layout.dims[dimension]),
                      [&](int axis) {
                        return mesh.getAxis(axis).role == AxisRole::tensor &&
                               !llvm::is_contained(held, axis);
                      });
      if (factors.size() == 1 &&
          mesh.getWidth(layout.dims[dimension]) <= op.rule.factors[*along].size)
        add(list, layout);
    }
  }

  std::optional<int> findSpreadFactor(const PlanningOp &op,
                                      const FactorAssignment &assignment,
                                      const TensorFactors &tensor) const {
    if (axes.grids.empty() || op.batchFactor < 0)
      return std::nullopt;
    std::optional<ProductFactors> product = getProductFactors(op);
    if (!product)
      return std::nullopt;
    auto carries = [&](int factor) {
      return llvm::any_of(assignment.axes[factor], [&](int axis) {
        return mesh.getAxis(axis).role == AxisRole::tensor;
      });
    };
    bool onColumns = llvm::any_of(product->columns, carries);
    bool onContracted = llvm::any_of(product->contracted, carries);
    if (onColumns && onContracted && !tensor.empty() && !tensor[0].empty())
      return tensor[0].front();
    if (onColumns && !onContracted)
      return product->contracted.front();
    if (onContracted && !onColumns && !product->columns.empty())
      return product->columns.front();
    return std::nullopt;
  }

  /// The pairs of groups of a grid on the two largest dimensions of a weight:
  /// updates ask for them, too, but inference has none.
  void addWeightPairs(std::vector<Sharding> &list,
                      const PlanningValue &value) const {
    llvm::SmallVector<int> order;
    for (size_t dimension = 0; dimension < value.shape.size(); ++dimension)
      order.push_back(static_cast<int>(dimension));
    if (order.size() < 2)
      return;
    llvm::stable_sort(order, [&](int first, int second) {
      return value.shape[first] > value.shape[second];
    });
    int first = std::min(order[0], order[1]);
    int second = std::max(order[0], order[1]);
    for (const Grid &grid : axes.grids)
      for (const auto &[major, minor] : getWeightPairs(grid)) {
        Sharding sharding = Sharding::getReplicated(value.shape.size());
        sharding.dims[first] = major;
        sharding.dims[second] = minor;
        if (mesh.getWidth(major) <= value.shape[first] &&
            mesh.getWidth(minor) <= value.shape[second])
          add(list, std::move(sharding));
      }
  }

  static void add(std::vector<Sharding> &list, Sharding sharding) {
    if (!llvm::is_contained(list, sharding))
      list.push_back(std::move(sharding));
  }

  const PlanningProblem &problem;
  const Mesh &mesh;
  const MeshAxes &axes;
  std::vector<std::vector<Sharding>> made, used;
  /// Of gradients that servers take.
  std::vector<std::vector<Sharding>> terms;
};

/// Leaves the layouts of a trained parameter, or of its cast, that the stage
/// asks for. A parameter has some, or `findUnspreadParameter` has refused it.
void applyZeroStage(std::vector<Sharding> &list, int stage) {
  std::vector<Sharding> kept;
  for (const Sharding &rest : list)
    if (rest.isStored() == (stage == 3))
      kept.push_back(rest);
  if (!kept.empty())
    list = std::move(kept);
}

/// Leaves the layouts that spread a weight over the most ranks of a forced
/// grid; over its depth in 2.5D it may be replicated.
void applyGrid(std::vector<Sharding> &list, const ForcedGrid &grid,
               const MeshAxes &axes, const Mesh &mesh) {
  auto getWidth = [&](const Sharding &rest) {
    AxisList held;
    for (const AxisList &dimension : rest.dims)
      llvm::copy_if(dimension, std::back_inserter(held), [&](int axis) {
        return llvm::is_contained(axes.tensor, axis);
      });
    return mesh.getWidth(held);
  };
  int64_t most = 1;
  for (const Sharding &rest : list)
    most = std::max(most, getWidth(rest));
  if (grid.kind == GridKind::grid2_5d)
    most = std::min(most, grid.sizes[0] * grid.sizes[1]);
  llvm::erase_if(list,
                 [&](const Sharding &rest) { return getWidth(rest) < most; });
}

/// Stores what a frozen parameter may lie in. No op runs on its pieces, so no
/// op has asked for that.
void storeFrozen(std::vector<Sharding> &list, const Mesh &mesh) {
  AxisList dataAxes = getDataAxes(mesh);
  std::vector<Sharding> stored;
  for (Sharding rest : list)
    for (const AxisList &storage : getStorageLists(mesh)) {
      for (AxisList &axes : rest.dims)
        llvm::erase_if(
            axes, [&](int axis) { return llvm::is_contained(dataAxes, axis); });
      rest.storage = dropAxes(storage, rest.dims);
      if (rest.isStored() && !verifySharding(rest, mesh, rest.dims.size()) &&
          !llvm::is_contained(stored, rest))
        stored.push_back(rest);
    }
  if (!stored.empty())
    list = std::move(stored);
}

} // namespace

std::vector<std::vector<Sharding>> parplan::getRestCandidates(
    const PlanningProblem &problem, const PlanRequest &request,
    const PlanSpace &space,
    const std::vector<std::vector<FactorAssignment>> &assignments) {
  const Mesh &mesh = space.mesh;
  MeshAxes axes = getMeshAxes(problem, space);
  RestCandidates collected(problem, mesh, axes);
  for (auto [op, choices] : llvm::zip_equal(problem.ops, assignments))
    collected.addOp(op, choices);
  std::vector<std::vector<Sharding>> candidates;
  for (size_t value = 0; value < problem.values.size(); ++value)
    candidates.push_back(collected.get(static_cast<int>(value)));
  if (request.grid)
    for (auto [value, list] : llvm::zip_equal(problem.values, candidates))
      if (value.kind == ValueKind::parameter && value.shape.size() > 1)
        applyGrid(list, *request.grid, axes, mesh);
  std::vector<bool> isFrozen(problem.values.size(), true);
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    if (value.updates < 0)
      continue;
    isFrozen[value.updates] = false;
    const PlanningValue &variable = problem.values[value.updates];
    std::vector<Sharding> &list = candidates[value.updates];
    if (request.zeroStage && variable.kind == ValueKind::parameter &&
        !variable.shape.empty())
      applyZeroStage(list, *request.zeroStage);
    candidates[index] = list;
  }
  if (request.zeroStage != 3)
    return candidates;
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.kind == ValueKind::parameter && isFrozen[index] &&
        !value.shape.empty())
      storeFrozen(candidates[index], mesh);
  // The short copy of a parameter rests as the parameter does.
  std::vector<bool> storable = findStorable(problem);
  for (auto [index, op] : llvm::enumerate(problem.ops))
    if (storable[index] && op.role == OpRole::forward)
      applyZeroStage(candidates[op.results[0]], 3);
  return candidates;
}
