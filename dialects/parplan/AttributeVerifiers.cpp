//===- AttributeVerifiers.cpp - Parts of attributes' verifiers ------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/AttributeVerifiers.h"

#include "dialects/parplan/ParplanOps.h"
#include "dialects/parplan/SoundShardings.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace parplan {

FailureOr<MeshAttr> resolveMesh(Operation *op, StringRef attribute,
                                FlatSymbolRefAttr symbol) {
  MeshOp mesh = findMesh(op, symbol);
  if (!mesh)
    return op->emitOpError() << "'" << attribute << "' names the mesh "
                             << symbol << ", which the module lacks";
  return mesh.getMesh();
}

FailureOr<ShardingAttr> verifyShardingOf(Operation *op, StringRef name,
                                         Attribute attribute, Type type) {
  auto sharding = dyn_cast<ShardingAttr>(attribute);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!sharding || !tensor)
    return op->emitOpError()
           << "'" << name << "' must be a #parplan.sharding of a tensor";
  FailureOr<MeshAttr> meshAttr = resolveMesh(op, name, sharding.getMesh());
  if (failed(meshAttr))
    return failure();
  auto *sound = sharding.getDialect().getRegisteredInterface<SoundShardings>();
  SoundShardings::Key key =
      SoundShardings::makeKey(sharding, *meshAttr, tensor.getRank());
  if (sound->contains(key))
    return sharding;
  const Mesh &mesh = meshAttr->getMesh();
  FailureOr<Sharding> resolved = sharding.resolve(mesh);
  if (failed(resolved))
    return op->emitOpError()
           << "'" << name << "' " << sharding << " names an axis that the mesh "
           << sharding.getMesh() << " lacks (S2)";
  if (std::optional<std::string> problem =
          verifySharding(*resolved, mesh, tensor.getRank()))
    return op->emitOpError()
           << "'" << name << "' " << sharding << ": " << *problem;
  sound->insert(key);
  return sharding;
}

Type getTypeOfBlocks(Attribute attribute, Type type) {
  auto global = dyn_cast_or_null<TypeAttr>(attribute);
  return global ? global.getValue() : type;
}

LogicalResult verifyGlobalType(Operation *op, NamedAttribute attribute) {
  auto isTensor = [](Attribute each) {
    auto type = dyn_cast<TypeAttr>(each);
    return type && isa<RankedTensorType>(type.getValue());
  };
  if (auto list = dyn_cast<ArrayAttr>(attribute.getValue()))
    if (!list.empty() && list.size() == op->getNumResults() &&
        llvm::all_of(list, isTensor))
      return success();
  if (isTensor(attribute.getValue()))
    return success();
  return op->emitOpError() << "'" << attributes::globalType
                           << "' must be a tensor type, or one per result";
}

LogicalResult verifyChoice(Operation *op, NamedAttribute attribute,
                           ArrayRef<StringRef> values) {
  auto text = dyn_cast<StringAttr>(attribute.getValue());
  if (text && llvm::is_contained(values, text.getValue()))
    return success();
  return op->emitOpError() << attribute.getName() << " must be one of "
                           << llvm::join(values, ", ") << ", not "
                           << attribute.getValue();
}

LogicalResult verifyNumber(Operation *op, NamedAttribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  if (number && number.getType().isInteger(64) && number.getInt() >= 0)
    return success();
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' must be an i64 that is not negative";
}

template <typename Kind>
static LogicalResult verifyKind(Operation *op, NamedAttribute attribute,
                                StringRef kind) {
  if (isa<Kind>(attribute.getValue()))
    return success();
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' must be a " << kind << " attribute";
}

LogicalResult verifyUnit(Operation *op, NamedAttribute attribute) {
  return verifyKind<UnitAttr>(op, attribute, "unit");
}

LogicalResult verifyString(Operation *op, NamedAttribute attribute) {
  return verifyKind<StringAttr>(op, attribute, "string");
}

} // namespace parplan
