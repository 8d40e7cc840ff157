//===- Assignments.cpp - What an op may do with the axes of a mesh --------===//

#include "parplan/Planner/Candidates.h"
#include "parplan/Planner/Panels.h"

using namespace parplan;

namespace {

/// Pairs of neighbouring factors of one dimension: a list of axes may fill the
/// first and go on in the second.
llvm::SmallVector<std::pair<int, int>>
findNeighbours(const ShardingRule &rule) {
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

class AssignmentBuilder {
public:
  AssignmentBuilder(const PlanningOp &op, const Mesh &mesh,
                    const MeshAxes &axes)
      : op(op), mesh(mesh), axes(axes), neighbours(findNeighbours(op.rule)) {}

  std::vector<FactorAssignment> build(bool isStorable) {
    FactorAssignment samples = placeSamples(routesTokens(op));
    addTensorAxes(placeContext(samples));
    if (routesTokens(op) && !axes.expert.empty())
      addTensorAxes(placeContext(placeSamples(/*keepsTokens=*/false)));
    if (op.keyFactor >= 0 && op.sequenceFactor >= 0 && !axes.context.empty()) {
      addRings();
      addAllToAll(samples);
    }
    addPendingAndStored(isStorable);
    llvm::erase_if(assignments, [&](const FactorAssignment &assignment) {
      return !keepsOrder(op, assignment, mesh);
    });
    return std::move(assignments);
  }

private:
  bool maySplit(int factor) const {
    if (factor < 0)
      return false;
    const Factor &description = op.rule.factors[factor];
    return description.size > 1 && description.kind != FactorKind::blocked &&
           (description.kind != FactorKind::coupled ||
            op.coupledReductions > 0);
  }

  void consider(FactorAssignment assignment) {
    if (!verifyAssignment(op.rule, assignment, mesh) &&
        !llvm::is_contained(assignments, assignment))
      assignments.push_back(std::move(assignment));
  }

  /// Appends axes to those of a factor, if it has an element for every rank.
  bool place(FactorAssignment &assignment, int factor,
             llvm::ArrayRef<int> added) const {
    if (added.empty())
      return true;
    if (!maySplit(factor))
      return false;
    FactorAssignment extended = assignment;
    llvm::append_range(extended.axes[factor], added);
    if (mesh.getWidth(extended.axes[factor]) > op.rule.factors[factor].size ||
        verifyAssignment(op.rule, extended, mesh))
      return false;
    assignment = std::move(extended);
    return true;
  }

  /// Calls `visit` with the assignments that have `added` on one factor, or on
  /// two neighbours of a dimension; none of them is one for which `isTaken`.
  template <typename IsTaken, typename Visit>
  void placeAnywhere(const FactorAssignment &base, llvm::ArrayRef<int> added,
                     IsTaken isTaken, Visit visit) {
    for (size_t factor = 0; factor < op.rule.factors.size(); ++factor) {
      FactorAssignment assignment = base;
      if (!isTaken(static_cast<int>(factor)) &&
          place(assignment, static_cast<int>(factor), added))
        visit(std::move(assignment));
    }
    for (auto [major, minor] : neighbours)
      for (size_t cut = 1; cut < added.size(); ++cut) {
        FactorAssignment assignment = base;
        if (!isTaken(major) && !isTaken(minor) &&
            place(assignment, major, added.take_front(cut)) &&
            place(assignment, minor, added.drop_front(cut)))
          visit(std::move(assignment));
      }
  }

  /// Data axes on the batch, expert axes on the experts or behind them; first
  /// behind them where tokens are kept.
  FactorAssignment placeSamples(bool keepsTokens) const {
    FactorAssignment base = FactorAssignment::getReplicated(op.rule);
    if (maySplit(op.batchFactor)) {
      base.axes[op.batchFactor] = axes.data;
      if (verifyAssignment(op.rule, base, mesh))
        base.axes[op.batchFactor].clear();
    }
    if (keepsTokens && place(base, op.batchFactor, axes.expert))
      return base;
    if (!place(base, op.expertFactor, axes.expert))
      place(base, op.batchFactor, axes.expert);
    return base;
  }

  FactorAssignment placeContext(FactorAssignment base) const {
    if (!place(base, op.sequenceFactor, axes.context))
      place(base, op.batchFactor, axes.context);
    return base;
  }

  void addTensorAxes(const FactorAssignment &base) {
    consider(base);
    for (size_t count : axes.counts)
      placeAnywhere(
          base, llvm::ArrayRef(axes.tensor).take_front(count),
          [&](int factor) { return factor == op.batchFactor; },
          [&](FactorAssignment assignment) {
            consider(std::move(assignment));
          });
    std::optional<ProductFactors> product = getProductFactors(op);
    bool isOfWeights = op.batchFactor < 0 && op.sequenceFactor < 0;
    for (const Grid &grid : axes.grids)
      if (product && !isOfWeights)
        addProductGrid(base, grid, *product);
      else if (isOfWeights)
        addWeightGrid(base, grid);
      else
        addGridBetween(base, grid);
  }

  //===--------------------------------------------------------------------===//
  // Grids
  //===--------------------------------------------------------------------===//

  /// Rows are on the batch; where it is too small, on the sequence. The factor
  /// that they are on, or nullopt.
  std::optional<int> placeRows(FactorAssignment &assignment,
                               llvm::ArrayRef<int> rows) const {
    for (int factor : {op.batchFactor, op.sequenceFactor})
      if (place(assignment, factor, rows))
        return factor;
    return std::nullopt;
  }

  void addProductGrid(const FactorAssignment &base, const Grid &grid,
                      const ProductFactors &factors) {
    const auto &groups = grid.groups;
    if (grid.kind == GridKind::grid3d) {
      for (auto [contracted, columns] :
           {std::pair(groups[1], groups[2]), std::pair(groups[2], groups[1])})
        addProduct3D(base, groups[0], contracted, columns, factors);
      return;
    }
    FactorAssignment rows = base;
    if (!placeRows(rows, getRowsAndColumns(grid).front().rows))
      return;
    // Panels move within a layer of the grid, not over its depth.
    AxisList layer = groups[groups.size() - 2];
    llvm::append_range(layer, groups.back());
    llvm::sort(layer);
    auto add = [&](llvm::ArrayRef<int> split, llvm::ArrayRef<int> looped) {
      for (int factor : split) {
        FactorAssignment assignment = rows;
        if (!place(assignment, factor, groups.back()))
          continue;
        consider(assignment);
        for (int panels : looped)
          if (llvm::is_contained(op.rule.panelFactors, panels)) {
            assignment.panels = {panels, layer};
            consider(assignment);
          }
      }
    };
    add(factors.columns, factors.contracted);
    add(factors.contracted, factors.columns);
  }

  void addProduct3D(const FactorAssignment &base, llvm::ArrayRef<int> rowAxes,
                    llvm::ArrayRef<int> contractedAxes,
                    llvm::ArrayRef<int> columnAxes,
                    const ProductFactors &factors) {
    for (int contracted : factors.contracted)
      for (int column : factors.columns) {
        FactorAssignment assignment = base;
        if (placeRows(assignment, rowAxes) &&
            place(assignment, contracted, contractedAxes) &&
            place(assignment, column, columnAxes))
          consider(std::move(assignment));
      }
  }

  /// What lies between two products follows: rows as theirs, columns on any
  /// other factor; on the sequence where nothing else can carry them, or where
  /// what else can is normalised.
  void addGridBetween(const FactorAssignment &base, const Grid &grid) {
    for (const auto &[rowAxes, columnAxes] : getRowsAndColumns(grid)) {
      FactorAssignment rows = base;
      std::optional<int> rowFactor = placeRows(rows, rowAxes);
      if (!rowFactor)
        continue;
      bool isPlaced = false;
      auto take = [&](FactorAssignment assignment) {
        isPlaced = true;
        consider(std::move(assignment));
      };
      auto isRow = [&](int factor) {
        return factor == op.batchFactor || factor == *rowFactor;
      };
      placeAnywhere(
          rows, columnAxes,
          [&](int factor) {
            return isRow(factor) || factor == op.sequenceFactor;
          },
          take);
      FactorAssignment onSequence = rows;
      if ((!isPlaced || op.coupledReductions > 0) &&
          !isRow(op.sequenceFactor) &&
          place(onSequence, op.sequenceFactor, columnAxes))
        take(std::move(onSequence));
      if (!isPlaced)
        consider(std::move(rows));
    }
  }

  /// Updates, casts and sums of gradients of weights: pairs of groups on the
  /// two largest factors, and columns alone (biases, gains).
  void addWeightGrid(const FactorAssignment &base, const Grid &grid) {
    llvm::SmallVector<int> factors;
    for (size_t factor = 0; factor < op.rule.factors.size(); ++factor)
      if (maySplit(static_cast<int>(factor)) && base.axes[factor].empty())
        factors.push_back(static_cast<int>(factor));
    llvm::stable_sort(factors, [&](int first, int second) {
      return op.rule.factors[first].size > op.rule.factors[second].size;
    });
    if (factors.size() > 2)
      factors.resize(2);
    llvm::sort(factors);
    for (const RowsAndColumns &split : getRowsAndColumns(grid))
      for (int factor : factors) {
        FactorAssignment assignment = base;
        if (place(assignment, factor, split.columns))
          consider(std::move(assignment));
      }
    if (factors.size() < 2)
      return;
    auto pairs = getWeightPairs(grid);
    // Gradients that are pending over the rows of a 3D product.
    if (mayReadPending(op) && grid.kind == GridKind::grid3d)
      llvm::append_range(pairs, std::vector<std::pair<AxisList, AxisList>>{
                                    {grid.groups[1], grid.groups[2]},
                                    {grid.groups[2], grid.groups[1]}});
    for (const auto &[first, second] : pairs) {
      FactorAssignment assignment = base;
      if (place(assignment, factors[0], first) &&
          place(assignment, factors[1], second))
        consider(std::move(assignment));
    }
  }

  //===--------------------------------------------------------------------===//
  // Context axes of attention
  //===--------------------------------------------------------------------===//

  /// Keys and values go round instead of being gathered.
  void addRings() {
    if (!llvm::is_contained(op.rule.panelFactors, op.keyFactor))
      return;
    for (size_t index = 0, count = assignments.size(); index < count; ++index) {
      FactorAssignment assignment = assignments[index];
      if (!llvm::is_contained(assignment.axes[op.sequenceFactor],
                              axes.context.front()))
        continue;
      assignment.panels = {op.keyFactor, axes.context};
      consider(std::move(assignment));
    }
  }

  /// Context axes behind the tensor axes of the heads.
  void addAllToAll(const FactorAssignment &local) {
    std::vector<FactorAssignment> others;
    std::swap(others, assignments);
    addTensorAxes(local);
    std::swap(others, assignments);
    auto isNoHead = [&](int factor) {
      return factor != op.headFactor &&
             llvm::none_of(neighbours, [&](std::pair<int, int> pair) {
               return pair.first == op.headFactor && pair.second == factor;
             });
    };
    for (const FactorAssignment &assignment : others)
      placeAnywhere(
          assignment, axes.context, isNoHead,
          [&](FactorAssignment extended) { consider(std::move(extended)); });
  }

  //===--------------------------------------------------------------------===//
  // Pending and stored
  //===--------------------------------------------------------------------===//

  /// Sets of axes over which an op may read pending, before those are dropped
  /// that it uses: those of the batch, the first tensor axes, both.
  llvm::SmallVector<AxisList> getPendingLists() const {
    llvm::SmallVector<AxisList> lists = {{}};
    if (!mayReadPending(op))
      return lists;
    auto add = [&](size_t count) {
      AxisList first(axes.tensor.begin(), axes.tensor.begin() + count);
      AxisList both = axes.batch;
      llvm::append_range(both, first);
      lists.push_back(std::move(first));
      lists.push_back(std::move(both));
    };
    add(0);
    llvm::for_each(axes.counts, add);
    return lists;
  }

  void addPendingAndStored(bool isStorable) {
    llvm::SmallVector<AxisList> storageLists = {{}};
    if (isStorable)
      llvm::append_range(storageLists, getStorageLists(mesh));
    llvm::SmallVector<AxisList> pendingLists = getPendingLists();
    // By index: `consider` adds behind what is looked at.
    for (size_t index = 0, count = assignments.size(); index < count; ++index)
      for (const AxisList &stored : storageLists)
        for (const AxisList &pending : pendingLists) {
          FactorAssignment assignment = assignments[index];
          assignment.storage = dropAxes(stored, assignment.axes);
          assignment.pending =
              dropAxes(dropAxes(pending, assignment.axes), assignment.storage);
          consider(std::move(assignment));
        }
  }

  const PlanningOp &op;
  const Mesh &mesh;
  const MeshAxes &axes;
  llvm::SmallVector<std::pair<int, int>> neighbours;
  std::vector<FactorAssignment> assignments;
};

} // namespace

std::vector<FactorAssignment> parplan::getAssignments(const PlanningOp &op,
                                                      const Mesh &mesh,
                                                      const MeshAxes &axes,
                                                      bool isStorable) {
  return AssignmentBuilder(op, mesh, axes).build(isStorable);
}
