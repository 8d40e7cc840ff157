//===- Attributes.cpp - Attributes as values of the sharding library ------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/MeshAttrStorage.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

static std::vector<MeshAxis> makeAxes(ArrayRef<MeshAxisAttr> attributes) {
  std::vector<MeshAxis> axes;
  for (MeshAxisAttr axis : attributes)
    axes.push_back(
        {axis.getName().str(), axis.getSize(), *parseAxisRole(axis.getRole())});
  return axes;
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes) {
  for (MeshAxisAttr axis : axes)
    if (!parseAxisRole(axis.getRole()))
      return emitError() << "axis \"" << axis.getName()
                         << "\" has the unknown role " << axis.getRole();
  if (std::optional<std::string> fault = verifyMeshAxes(makeAxes(axes)))
    return emitError() << *fault;
  return success();
}

detail::MeshAttrStorage::MeshAttrStorage(ArrayRef<MeshAxisAttr> axes)
    : axes(axes), mesh(makeAxes(axes)) {}

ArrayRef<MeshAxisAttr> MeshAttr::getAxes() const { return getImpl()->axes; }

const Mesh &MeshAttr::getMesh() const { return getImpl()->mesh; }

MeshAttr MeshAttr::get(MLIRContext *context, const Mesh &mesh) {
  SmallVector<MeshAxisAttr> axes;
  for (const MeshAxis &axis : mesh.getAxes())
    axes.push_back(MeshAxisAttr::get(context, axis.name, axis.size,
                                     stringifyAxisRole(axis.role)));
  return get(context, axes);
}

//===----------------------------------------------------------------------===//
// Axis lists
//===----------------------------------------------------------------------===//

static FailureOr<AxisList> resolveAxes(AxisListAttr list, const Mesh &mesh) {
  AxisList axes;
  for (StringAttr name : list.getNames()) {
    std::optional<int> axis = mesh.findAxis(name.getValue());
    if (!axis)
      return failure();
    axes.push_back(*axis);
  }
  return axes;
}

FailureOr<AxisList> AxisListAttr::resolve(const Mesh &mesh) const {
  return resolveAxes(*this, mesh);
}

AxisListAttr AxisListAttr::get(MLIRContext *context, const Mesh &mesh,
                               ArrayRef<int> axes) {
  SmallVector<StringAttr> names;
  for (int axis : axes)
    names.push_back(StringAttr::get(context, mesh.getAxis(axis).name));
  return get(context, names);
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

FailureOr<Sharding> ShardingAttr::resolve(const Mesh &mesh) const {
  Sharding sharding;
  for (AxisListAttr dim : getDims()) {
    FailureOr<AxisList> axes = dim.resolve(mesh);
    if (failed(axes))
      return failure();
    sharding.dims.push_back(std::move(*axes));
  }
  FailureOr<AxisList> partial = getPartial().resolve(mesh);
  FailureOr<AxisList> storage = getStorage().resolve(mesh);
  if (failed(partial) || failed(storage))
    return failure();
  llvm::sort(*partial);
  sharding.partial = std::move(*partial);
  sharding.storage = std::move(*storage);
  sharding.reduction = getReduction();
  return sharding;
}

ShardingAttr ShardingAttr::get(FlatSymbolRefAttr symbol, const Mesh &mesh,
                               const Sharding &sharding) {
  MLIRContext *context = symbol.getContext();
  SmallVector<AxisListAttr> dims;
  for (const AxisList &axes : sharding.dims)
    dims.push_back(AxisListAttr::get(context, mesh, axes));
  return get(context, symbol, dims,
             AxisListAttr::get(context, mesh, sharding.partial),
             sharding.partial.empty() ? ReductionKind::sum : sharding.reduction,
             AxisListAttr::get(context, mesh, sharding.storage));
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

FailureOr<FactorAssignment> FactorsAttr::resolve(const ShardingRule &rule,
                                                 const Mesh &mesh) const {
  FactorAssignment assignment = FactorAssignment::getReplicated(rule);
  for (auto [name, list] : llvm::zip(getNames(), getAxes())) {
    std::optional<int> factor = rule.findFactor(name.getValue());
    FailureOr<AxisList> axes = list.resolve(mesh);
    if (!factor || failed(axes))
      return failure();
    assignment.axes[*factor] = std::move(*axes);
  }
  FailureOr<AxisList> pending = getPending().resolve(mesh);
  FailureOr<AxisList> storage = getStorage().resolve(mesh);
  FailureOr<AxisList> panelAxes = getPanelAxes().resolve(mesh);
  if (failed(pending) || failed(storage) || failed(panelAxes))
    return failure();
  if (StringAttr panelFactor = getPanelFactor()) {
    std::optional<int> factor = rule.findFactor(panelFactor.getValue());
    if (!factor)
      return failure();
    llvm::sort(*panelAxes);
    assignment.panels = {*factor, std::move(*panelAxes)};
  }
  llvm::sort(*pending);
  assignment.storage = std::move(*storage);
  assignment.pending = std::move(*pending);
  assignment.pendingOperand = static_cast<int>(getPendingOperand());
  return assignment;
}

FactorsAttr FactorsAttr::get(FlatSymbolRefAttr symbol, const Mesh &mesh,
                             const ShardingRule &rule,
                             const FactorAssignment &assignment) {
  MLIRContext *context = symbol.getContext();
  SmallVector<StringAttr> names;
  SmallVector<AxisListAttr> lists;
  for (auto [factor, axes] : llvm::zip(rule.factors, assignment.axes)) {
    if (axes.empty())
      continue;
    names.push_back(StringAttr::get(context, factor.name));
    lists.push_back(AxisListAttr::get(context, mesh, axes));
  }
  StringAttr panelFactor;
  if (assignment.panels.exists())
    panelFactor =
        StringAttr::get(context, rule.factors[assignment.panels.factor].name);
  return get(context, symbol, names, lists,
             AxisListAttr::get(context, mesh, assignment.pending),
             assignment.pendingOperand,
             AxisListAttr::get(context, mesh, assignment.storage), panelFactor,
             AxisListAttr::get(context, mesh, assignment.panels.axes));
}

} // namespace parplan
