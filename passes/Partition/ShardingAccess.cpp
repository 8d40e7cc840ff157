//===- ShardingAccess.cpp - Shardings of a module's values ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/ShardingAccess.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan {

FailureOr<ShardingAccess> ShardingAccess::create(ModuleOp module) {
  MeshOp mesh = getOnlyMesh(module);
  if (!mesh)
    return module.emitError("partition needs exactly one parplan.mesh");
  return ShardingAccess(mesh.getMesh().getMesh(),
                        FlatSymbolRefAttr::get(mesh.getSymNameAttr()));
}

/// The dialect has verified S1, S2 and the names of axes.
static Sharding resolveSharding(ShardingAttr attribute, const Mesh &mesh) {
  FailureOr<Sharding> sharding = attribute.resolve(mesh);
  PARPLAN_CHECK(succeeded(sharding), "a sharding of another mesh");
  return *sharding;
}

FailureOr<Sharding> ShardingAccess::getSharding(Value value) const {
  if (ShardingAttr attribute = parplan::getSharding(value))
    return resolveSharding(attribute, mesh);
  if (Operation *op = value.getDefiningOp())
    return op->emitOpError("has no ") << attributes::shardings;
  auto argument = cast<BlockArgument>(value);
  return argument.getOwner()->getParentOp()->emitOpError("argument ")
         << argument.getArgNumber() << " has no " << attributes::sharding;
}

FailureOr<Sharding> ShardingAccess::getResultSharding(func::FuncOp function,
                                                      unsigned index) const {
  auto attribute =
      function.getResultAttrOfType<ShardingAttr>(index, attributes::sharding);
  if (!attribute)
    return function.emitOpError("result ")
           << index << " has no " << attributes::sharding;
  return resolveSharding(attribute, mesh);
}

FailureOr<FactorAssignment>
ShardingAccess::getAssignment(Operation *op, const ShardingRule &rule) const {
  auto attribute = op->getAttrOfType<FactorsAttr>(attributes::factors);
  if (!attribute)
    return op->emitOpError("has no ") << attributes::factors;
  FailureOr<FactorAssignment> assignment = attribute.resolve(rule, mesh);
  PARPLAN_CHECK(succeeded(assignment), "factors of another op or mesh");
  std::optional<std::string> fault = verifyAssignment(rule, *assignment, mesh);
  PARPLAN_CHECK(!fault, *fault);
  return assignment;
}

void ShardingAccess::setShardings(Operation *op,
                                  llvm::ArrayRef<Sharding> shardings) const {
  SmallVector<Attribute> list;
  for (const Sharding &sharding : shardings)
    list.push_back(getAttr(sharding));
  op->setAttr(attributes::shardings, ArrayAttr::get(op->getContext(), list));
}

void ShardingAccess::setAssignment(Operation *op, const ShardingRule &rule,
                                   const FactorAssignment &assignment) const {
  op->setAttr(attributes::factors,
              FactorsAttr::get(symbol, mesh, rule, assignment));
}

ShardingAttr ShardingAccess::getAttr(const Sharding &sharding) const {
  return ShardingAttr::get(symbol, mesh, sharding);
}

AxisListAttr ShardingAccess::getAttr(llvm::ArrayRef<int> axes) const {
  MLIRContext *context = symbol.getContext();
  SmallVector<StringAttr> names;
  for (int axis : axes)
    names.push_back(StringAttr::get(context, mesh.getAxis(axis).name));
  return AxisListAttr::get(context, names);
}

AxisList ShardingAccess::getAxes(AxisListAttr axes) const {
  FailureOr<AxisList> list = axes.resolve(mesh);
  PARPLAN_CHECK(succeeded(list), "axes of another mesh");
  return *list;
}

RankedTensorType ShardingAccess::getLocalType(RankedTensorType global,
                                              const Sharding &sharding) const {
  if (sharding.isStored())
    return RankedTensorType::get(
        {sharding.getLocalElementCount(mesh, global.getShape())},
        global.getElementType());
  return RankedTensorType::get(sharding.getLocalShape(mesh, global.getShape()),
                               global.getElementType());
}

bool isSource(Operation *op) {
  return isa<ParameterOp, ConstantOp, IotaOp, AffineMaskOp>(op);
}

bool isPerMicroBatch(Operation *op) {
  return op->hasAttr(attributes::perMicroBatch);
}

CopyReader getReader(Operation *op) {
  CopyReader reader;
  if (isa<func::ReturnOp>(op))
    reader.role = OpRole::optimizer;
  else if (auto role = op->getAttrOfType<StringAttr>(attributes::role))
    reader.role = parseOpRole(role).value_or(OpRole::forward);
  // An accumulate reads once per micro-batch and makes its result once.
  reader.perMicroBatch = isPerMicroBatch(op) || isa<AccumulateOp>(op);
  return reader;
}

static constexpr llvm::StringLiteral origin[] = {
    attributes::block,     attributes::node,          attributes::role,
    attributes::group,     attributes::perMicroBatch, attributes::stage,
    attributes::recompute, attributes::relay};

void copyOrigin(Operation *from, Operation *to) {
  for (llvm::StringRef name : origin)
    if (Attribute value = from->getAttr(name))
      to->setAttr(name, value);
}

void removeOrigin(mlir::NamedAttrList &list) {
  for (llvm::StringRef name : origin)
    list.erase(name);
}

} // namespace parplan
