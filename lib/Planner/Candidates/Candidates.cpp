//===- Candidates.cpp - What a mesh offers to all ops ---------------------===//

#include "parplan/Planner/Candidates.h"

using namespace parplan;

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

AxisList parplan::getAxes(const Mesh &mesh, AxisRole role) {
  AxisList axes;
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
    if (mesh.getAxis(axis).role == role)
      axes.push_back(axis);
  return axes;
}

AxisList parplan::getDataAxes(const Mesh &mesh) {
  return getAxes(mesh, AxisRole::data);
}

AxisList parplan::getTensorAxes(const Mesh &mesh) {
  return getAxes(mesh, AxisRole::tensor);
}

AxisList parplan::getBatchAxes(const Mesh &mesh) {
  AxisList axes;
  for (AxisRole role : {AxisRole::data, AxisRole::context, AxisRole::expert})
    llvm::append_range(axes, getAxes(mesh, role));
  return axes;
}

llvm::SmallVector<AxisList> parplan::getStorageLists(const Mesh &mesh) {
  AxisList axes = getBatchAxes(mesh);
  llvm::SmallVector<AxisList> lists;
  if (!axes.empty())
    lists.push_back(axes);
  if (getDataAxes(mesh).size() > 1)
    lists.push_back(AxisList(llvm::ArrayRef(axes).drop_front()));
  return lists;
}

AxisList parplan::dropAxes(llvm::ArrayRef<int> axes,
                           llvm::ArrayRef<AxisList> used) {
  AxisList free;
  llvm::copy_if(axes, std::back_inserter(free), [&](int axis) {
    return llvm::none_of(used, [&](const AxisList &list) {
      return llvm::is_contained(list, axis);
    });
  });
  return free;
}

/// The first of all tensor axes that fit the factors of the problem, see
/// `MeshAxes`.
static llvm::SmallVector<size_t> getAxisCounts(const PlanningProblem &problem,
                                               const Mesh &mesh) {
  AxisList axes = getTensorAxes(mesh);
  llvm::SmallVector<size_t> counts;
  if (!axes.empty())
    counts.push_back(axes.size());
  // Of the first axes, ascending.
  llvm::SmallVector<int64_t> widths;
  for (size_t count = 1; count <= axes.size(); ++count)
    widths.push_back(mesh.getWidth(llvm::ArrayRef(axes).take_front(count)));
  for (const PlanningOp &op : problem.ops)
    for (const Factor &factor : op.rule.factors) {
      if (op.role != OpRole::forward)
        break;
      auto count = static_cast<size_t>(llvm::upper_bound(widths, factor.size) -
                                       widths.begin());
      if (count > 0 && !llvm::is_contained(counts, count))
        counts.push_back(count);
    }
  llvm::sort(counts, std::greater<>());
  return counts;
}

MeshAxes parplan::getMeshAxes(const PlanningProblem &problem,
                              const PlanSpace &space) {
  MeshAxes axes;
  axes.data = getDataAxes(space.mesh);
  axes.batch = getBatchAxes(space.mesh);
  axes.context = getAxes(space.mesh, AxisRole::context);
  axes.expert = getAxes(space.mesh, AxisRole::expert);
  axes.tensor = getTensorAxes(space.mesh);
  axes.counts =
      space.counts ? *space.counts : getAxisCounts(problem, space.mesh);
  if (!space.hasParts && axes.counts.size() > 1)
    axes.counts.resize(1);
  axes.grids = space.grids;
  return axes;
}

Sharding parplan::getLoadedSharding(const PlanningValue &value,
                                    const MeshAxes &axes, const Mesh &mesh) {
  Sharding sharding = Sharding::getReplicated(value.shape.size());
  auto place = [&](int dimension, const AxisList &added) {
    if (dimension < 0)
      return false;
    AxisList extended = sharding.dims[dimension];
    llvm::append_range(extended, added);
    if (mesh.getWidth(extended) > value.shape[dimension])
      return false;
    sharding.dims[dimension] = std::move(extended);
    return true;
  };
  if (value.batchDimension >= 0)
    sharding.dims[value.batchDimension] = axes.data;
  place(value.batchDimension, axes.expert);
  if (!place(value.sequenceDimension, axes.context))
    place(value.batchDimension, axes.context);
  return sharding;
}

Sharding parplan::getTerms(const Sharding &made) {
  Sharding terms = Sharding::getReplicated(made.dims.size());
  if (made.isPartial() && made.reduction == ReductionKind::sum)
    terms.partial = made.partial;
  return terms;
}
