//===- ParplanDialect.cpp - The parplan dialect ---------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanDialect.h"

#include "dialects/parplan/MeshAttrStorage.h"
#include "dialects/parplan/ParplanOps.h"
#include "dialects/parplan/SoundShardings.h"

#include "parplan/Support/Check.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/parplan/ParplanDialect.cpp.inc"
#include "dialects/parplan/ParplanEnums.cpp.inc"
#include "dialects/parplan/ParplanInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/parplan/ParplanAttributes.cpp.inc"

namespace parplan {

void ParplanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/parplan/ParplanAttributes.cpp.inc"
      >();
  registerParplanDialectOperations(this);
  addInterface<SoundShardings>();
}

Operation *ParplanDialect::materializeConstant(OpBuilder &builder,
                                               Attribute value, Type type,
                                               Location location) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return builder.create<ConstantOp>(location, elements);
}

//===----------------------------------------------------------------------===//
// Meshes and shardings of values
//===----------------------------------------------------------------------===//

MeshOp findMesh(Operation *op, FlatSymbolRefAttr symbol) {
  while (op && !op->hasTrait<OpTrait::SymbolTable>())
    op = op->getParentOp();
  if (!op || op->getNumRegions() != 1 || op->getRegion(0).empty())
    return {};
  for (MeshOp mesh : op->getRegion(0).front().getOps<MeshOp>())
    if (mesh.getSymNameAttr() == symbol.getAttr())
      return mesh;
  return {};
}

MeshOp getOnlyMesh(Operation *module) {
  if (module->getNumRegions() != 1 || module->getRegion(0).empty())
    return {};
  auto meshes = module->getRegion(0).front().getOps<MeshOp>();
  auto first = meshes.begin();
  if (first == meshes.end() || std::next(first) != meshes.end())
    return {};
  return *first;
}

TypeAttr getGlobalType(Operation *op, unsigned index) {
  Attribute attribute = op->getAttr(attributes::globalType);
  if (auto list = dyn_cast_or_null<ArrayAttr>(attribute))
    return index < list.size() ? dyn_cast<TypeAttr>(list[index]) : TypeAttr();
  return dyn_cast_or_null<TypeAttr>(attribute);
}

void setGlobalTypes(Operation *op, TypeRange types) {
  auto getShape = [](Type type) {
    return cast<RankedTensorType>(type).getShape();
  };
  Attribute value = TypeAttr::get(types.front());
  if (llvm::any_of(types, [&](Type type) {
        return getShape(type) != getShape(types.front());
      })) {
    SmallVector<Attribute> list;
    for (Type type : types)
      list.push_back(TypeAttr::get(type));
    value = ArrayAttr::get(op->getContext(), list);
  }
  op->setAttr(attributes::globalType, value);
}

ShardingAttr getSharding(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast_or_null<FunctionOpInterface>(
        argument.getOwner()->getParentOp());
    if (!function || !argument.getOwner()->isEntryBlock())
      return {};
    return function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(),
                                                   attributes::sharding);
  }
  Operation *op = value.getDefiningOp();
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return reshard.getTarget();
  if (auto out = op->getAttrOfType<ShardingAttr>("out_sharding"))
    return out;
  auto all = op->getAttrOfType<ArrayAttr>(attributes::shardings);
  size_t index = cast<OpResult>(value).getResultNumber();
  if (!all || index >= all.size())
    return {};
  return dyn_cast<ShardingAttr>(all[index]);
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t getElementBytes(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    type = shaped.getElementType();
  PARPLAN_CHECK(type.isIntOrFloat(), "element type without a size");
  return (type.getIntOrFloatBitWidth() + 7) / 8;
}

OpCost evaluateWork(Operation *op, ArrayRef<int64_t> localFactorSizes) {
  auto costed = cast<CostOpInterface>(op);
  SmallVector<int64_t> operandBytes, resultBytes;
  for (Type type : op->getOperandTypes())
    operandBytes.push_back(getElementBytes(type));
  for (Type type : op->getResultTypes())
    resultBytes.push_back(getElementBytes(type));
  return evaluateWork(costed.getWork(),
                      cast<ShardingRuleOpInterface>(op).getShardingRule(),
                      localFactorSizes, operandBytes, resultBytes);
}

} // namespace parplan
