//===- InterfaceAttributes.cpp - Verification of parplan.* of functions ---===//
//
// Part of parplan. Attributes of arguments and results.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/AttributeVerifiers.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace parplan {

static LogicalResult verifySchedule(FunctionOpInterface function,
                                    unsigned index, NamedAttribute attribute) {
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
  if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
    return function->emitOpError()
           << "argument " << index << " with " << attribute.getName()
           << " must be a float scalar";
  return verifyChoice(function, attribute,
                      {schedules::learningRate, schedules::stepSize,
                       schedules::biasCorrection2Sqrt, schedules::lossScale,
                       schedules::inverseLossScale});
}

/// Verifies `parplan.zigzag` of an argument or result of `type`.
static LogicalResult verifyZigzag(Operation *op, Attribute attribute,
                                  Type type) {
  auto ranks = dyn_cast<DenseI64ArrayAttr>(attribute);
  auto tensor = dyn_cast<RankedTensorType>(type);
  bool fits = ranks && tensor && ranks.size() == tensor.getRank();
  for (int64_t dim = 0; fits && dim < tensor.getRank(); ++dim)
    fits = ranks[dim] == 1 ||
           (ranks[dim] > 1 && tensor.getDimSize(dim) % (2 * ranks[dim]) == 0);
  if (fits)
    return success();
  return op->emitOpError() << "'" << attributes::zigzag
                           << "' must be an array<i64> with a number of ranks "
                              "per dimension, 1 or with two chunks for each";
}

LogicalResult ParplanDialect::verifyRegionArgAttribute(
    Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  if (name == attributes::sharding) {
    FailureOr<ShardingAttr> sharding = verifyShardingOf(
        op, name, attribute.getValue(),
        getTypeOfBlocks(function.getArgAttr(index, attributes::globalType),
                        function.getArgumentTypes()[index]));
    if (failed(sharding))
      return failure();
    if (sharding->isPartial())
      return op->emitOpError()
             << "argument " << index
             << " is pending; values enter a function complete (S8)";
  }
  if (name == attributes::globalType)
    return verifyGlobalType(op, attribute);
  if (name == attributes::name)
    return verifyString(op, attribute);
  if (name == attributes::batch)
    return verifyUnit(op, attribute);
  if (name == attributes::schedule)
    return verifySchedule(function, index, attribute);
  if (name == attributes::zigzag)
    return verifyZigzag(
        op, attribute.getValue(),
        getTypeOfBlocks(function.getArgAttr(index, attributes::globalType),
                        function.getArgumentTypes()[index]));
  return success();
}

/// Verifies `parplan.variable` of result `index`: no two results may replace
/// the same variable.
static LogicalResult verifyVariable(FunctionOpInterface function,
                                    unsigned index, Attribute attribute) {
  auto variable = dyn_cast<VariableAttr>(attribute);
  if (!variable)
    return function->emitOpError()
           << "'" << attributes::variable << "' must be a #parplan.variable";
  if (variable.getSlot() && variable.getSlot().empty())
    return function->emitOpError()
           << "'" << attributes::variable << "' needs a name of its slot";
  // The first variable looks at all of them: large models have many thousands.
  for (unsigned other = 0; other < index; ++other)
    if (function.getResultAttr(other, attributes::variable))
      return success();
  llvm::DenseMap<Attribute, unsigned> seen;
  for (unsigned other = index; other < function.getNumResults(); ++other) {
    Attribute found = function.getResultAttr(other, attributes::variable);
    if (!found)
      continue;
    auto [entry, isNew] = seen.try_emplace(found, other);
    if (!isNew)
      return function->emitOpError() << "results " << entry->second << " and "
                                     << other << " replace the same variable";
  }
  return success();
}

/// Verifies `parplan.bucket` of result `index`.
static LogicalResult verifyBucket(FunctionOpInterface function, unsigned index,
                                  Attribute attribute) {
  auto members = dyn_cast<ArrayAttr>(attribute);
  if (members && !members.empty() &&
      llvm::all_of(members, llvm::IsaPred<MemberAttr>) &&
      !function.getResultAttr(index, attributes::variable))
    return success();
  return function->emitOpError()
         << "'" << attributes::bucket
         << "' must be members of a bucket, in place of '"
         << attributes::variable << "'";
}

LogicalResult ParplanDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  if (name == attributes::sharding) {
    FailureOr<ShardingAttr> sharding = verifyShardingOf(
        op, name, attribute.getValue(),
        getTypeOfBlocks(function.getResultAttr(index, attributes::globalType),
                        function.getResultTypes()[index]));
    if (failed(sharding))
      return failure();
    // A variable rests stored where the update is.
    bool isVariable = function.getResultAttr(index, attributes::variable) ||
                      function.getResultAttr(index, attributes::bucket);
    if (sharding->isPartial() || (sharding->isStored() && !isVariable))
      return op->emitOpError()
             << "result " << index
             << " is pending or stored; values leave a function complete (S8)";
  }
  if (name == attributes::variable)
    return verifyVariable(function, index, attribute.getValue());
  if (name == attributes::bucket)
    return verifyBucket(function, index, attribute.getValue());
  if (name == attributes::zigzag)
    return verifyZigzag(
        op, attribute.getValue(),
        getTypeOfBlocks(function.getResultAttr(index, attributes::globalType),
                        function.getResultTypes()[index]));
  if (name == attributes::batchDim)
    return verifyNumber(op, attribute);
  if (name == attributes::globalType)
    return verifyGlobalType(op, attribute);
  if (name == attributes::name)
    return verifyString(op, attribute);
  return success();
}

} // namespace parplan
