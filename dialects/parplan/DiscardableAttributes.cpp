//===- DiscardableAttributes.cpp - Verification of parplan.* attributes ---===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/PaddingId.h"
#include "dialects/parplan/ParplanOps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace parplan {

/// Finds the mesh of an attribute, or reports that there is none.
static FailureOr<Mesh> resolveMesh(Operation *op, StringRef attribute,
                                   FlatSymbolRefAttr symbol) {
  MeshOp mesh = findMesh(op, symbol);
  if (!mesh)
    return op->emitOpError() << "'" << attribute << "' names the mesh "
                             << symbol << ", which the module lacks";
  return mesh.getMesh().getMesh();
}

/// S1 and S2 for a value of `type`.
static FailureOr<Sharding> verifyShardingOf(Operation *op, StringRef name,
                                            Attribute attribute, Type type) {
  auto sharding = dyn_cast<ShardingAttr>(attribute);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!sharding || !tensor)
    return op->emitOpError()
           << "'" << name << "' must be a #parplan.sharding of a tensor";
  FailureOr<Mesh> mesh = resolveMesh(op, name, sharding.getMesh());
  if (failed(mesh))
    return failure();
  FailureOr<Sharding> resolved = sharding.resolve(*mesh);
  if (failed(resolved))
    return op->emitOpError()
           << "'" << name << "' " << sharding << " names an axis that the mesh "
           << sharding.getMesh() << " lacks (S2)";
  if (std::optional<std::string> problem =
          verifySharding(*resolved, *mesh, tensor.getRank()))
    return op->emitOpError()
           << "'" << name << "' " << sharding << ": " << *problem;
  return resolved;
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

/// The type that all blocks of a local value have together; `type` where it is
/// global itself.
static Type getGlobalType(Attribute attribute, Type type) {
  auto global = dyn_cast_or_null<TypeAttr>(attribute);
  return global ? global.getValue() : type;
}

static LogicalResult verifyGlobalType(Operation *op, Attribute attribute) {
  auto isTensor = [](Attribute each) {
    auto type = dyn_cast<TypeAttr>(each);
    return type && isa<RankedTensorType>(type.getValue());
  };
  if (auto list = dyn_cast<ArrayAttr>(attribute))
    if (!list.empty() && list.size() == op->getNumResults() &&
        llvm::all_of(list, isTensor))
      return success();
  if (isTensor(attribute))
    return success();
  return op->emitOpError() << "'" << attributes::globalType
                           << "' must be a tensor type, or one per result";
}

static LogicalResult verifyShardings(Operation *op, Attribute attribute) {
  auto all = dyn_cast<ArrayAttr>(attribute);
  if (!all || all.size() != op->getNumResults())
    return op->emitOpError() << "'" << attributes::shardings
                             << "' must have one sharding for each of the "
                             << op->getNumResults() << " results";
  for (auto [index, sharding] : llvm::enumerate(all))
    if (failed(verifyShardingOf(op, attributes::shardings, sharding,
                                getGlobalType(getGlobalType(op, index),
                                              op->getResult(index).getType()))))
      return failure();
  return success();
}

/// S2, S7, S8 and the names of the factors.
static LogicalResult verifyFactors(Operation *op, Attribute attribute) {
  auto factors = dyn_cast<FactorsAttr>(attribute);
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!factors || !ruled)
    return op->emitOpError()
           << "'" << attributes::factors
           << "' must be #parplan.factors of an op with a sharding rule";
  FailureOr<Mesh> mesh =
      resolveMesh(op, attributes::factors, factors.getMesh());
  if (failed(mesh))
    return failure();
  ShardingRule rule = ruled.getShardingRule();
  for (StringAttr name : factors.getNames())
    if (!rule.findFactor(name.getValue()))
      return op->emitOpError()
             << "'" << attributes::factors << "' assigns axes to the factor "
             << name << ", which the op lacks (S7)";
  FailureOr<FactorAssignment> assignment = factors.resolve(rule, *mesh);
  if (failed(assignment))
    return op->emitOpError() << "'" << attributes::factors << "' " << factors
                             << " names an axis that the mesh "
                             << factors.getMesh() << " lacks (S2)";
  if (std::optional<std::string> problem =
          verifyAssignment(rule, *assignment, *mesh))
    return op->emitOpError()
           << "'" << attributes::factors << "' " << factors << ": " << *problem;
  // Indices are operands of another type.
  if (rule.linearity == Linearity::separately && !assignment->pending.empty() &&
      getElementTypeOrSelf(op->getOperand(assignment->pendingOperand)) !=
          getElementTypeOrSelf(op->getResult(0)))
    return op->emitOpError() << "'" << attributes::factors << "' " << factors
                             << ": S8: the op is not linear in operand "
                             << assignment->pendingOperand;
  return success();
}

/// A string that is one of `values`.
static LogicalResult verifyChoice(Operation *op, NamedAttribute attribute,
                                  ArrayRef<StringRef> values) {
  auto text = dyn_cast<StringAttr>(attribute.getValue());
  if (text && llvm::is_contained(values, text.getValue()))
    return success();
  return op->emitOpError() << attribute.getName() << " must be one of "
                           << llvm::join(values, ", ") << ", not "
                           << attribute.getValue();
}

/// P8: what waits for the backward pass is not made by it, and no longer than
/// a step; what rests on NVMe is read in the next step.
static LogicalResult verifyTier(Operation *op, NamedAttribute attribute) {
  if (failed(verifyChoice(op, attribute,
                          {tiers::device, tiers::host, tiers::nvme})))
    return failure();
  StringRef tier = cast<StringAttr>(attribute.getValue()).getValue();
  auto role = op->getAttrOfType<StringAttr>(attributes::role);
  StringRef when = role ? role.getValue() : StringRef(roles::forward);
  bool isKept = isa<ParameterOp, BucketParameterOp>(op) ||
                when == roles::optimizer ||
                llvm::any_of(op->getUsers(), [](Operation *user) {
                  return user->hasTrait<OpTrait::IsTerminator>();
                });
  if (isKept || tier == tiers::device)
    return success();
  if (tier == tiers::nvme)
    return op->emitOpError()
           << "results that are not kept beyond the step cannot rest in the "
              "tier \"nvme\" (P8)";
  if (when != roles::forward && when != roles::loss)
    return op->emitOpError() << "results with the role \"" << when
                             << "\" cannot wait for the backward pass (P8)";
  return success();
}

/// An i64 of a function that is not less than `least`.
static LogicalResult
verifyNumberOfFunction(Operation *op, NamedAttribute attribute, int64_t least) {
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  if (isa<FunctionOpInterface>(op) && number &&
      number.getType().isInteger(64) && number.getInt() >= least)
    return success();
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' must be an i64 of at least " << least
                           << " of a function";
}

/// Three times per stage, in a function that says its schedule.
static LogicalResult verifyPassSeconds(Operation *op, Attribute attribute) {
  auto seconds = dyn_cast<DenseF64ArrayAttr>(attribute);
  if (isa<FunctionOpInterface>(op) && seconds && !seconds.empty() &&
      seconds.size() % 3 == 0 &&
      llvm::all_of(seconds.asArrayRef(), [](double time) { return time >= 0; }))
    return success();
  return op->emitOpError() << "'" << attributes::passSeconds
                           << "' must be an array<f64> of a function, three "
                              "times per stage";
}

/// None of them negative.
static LogicalResult verifyBoundarySeconds(Operation *op, Attribute attribute) {
  auto seconds = dyn_cast<DenseF64ArrayAttr>(attribute);
  if (isa<FunctionOpInterface>(op) && seconds &&
      llvm::all_of(seconds.asArrayRef(), [](double time) { return time >= 0; }))
    return success();
  return op->emitOpError() << "'" << attributes::boundarySeconds
                           << "' must be an array<f64> of a function, one time "
                              "per boundary of stages";
}

/// None of them negative, so many for each stage or position.
static LogicalResult verifyBytesOfFunction(Operation *op,
                                           NamedAttribute attribute,
                                           int64_t count, StringRef each) {
  auto bytes = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
  if (isa<FunctionOpInterface>(op) && bytes && !bytes.empty() &&
      bytes.size() % count == 0 &&
      llvm::all_of(bytes.asArrayRef(), [](int64_t of) { return of >= 0; }))
    return success();
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' must be an array<i64> of a function, none "
                              "of them negative, "
                           << each;
}

static LogicalResult verifyPassTable(Operation *op, Attribute attribute) {
  auto positions = dyn_cast<ArrayAttr>(attribute);
  if (isa<FunctionOpInterface>(op) && positions &&
      llvm::all_of(positions, llvm::IsaPred<StringAttr>))
    return success();
  return op->emitOpError() << "'" << attributes::passTable
                           << "' must be an array of strings of a function, "
                              "the passes of each position";
}

/// An i64 that is not negative.
static LogicalResult verifyNumber(Operation *op, NamedAttribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  if (number && number.getType().isInteger(64) && number.getInt() >= 0)
    return success();
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' must be an i64 that is not negative";
}

LogicalResult
ParplanDialect::verifyOperationAttribute(Operation *op,
                                         NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == attributes::factors)
    return verifyFactors(op, value);
  if (name == attributes::shardings)
    return verifyShardings(op, value);
  if (name == attributes::globalType)
    return verifyGlobalType(op, value);
  if (name == attributes::microBatches)
    return verifyNumberOfFunction(op, attribute, /*least=*/1);
  if (name == attributes::position || name == attributes::staleness)
    return verifyNumberOfFunction(op, attribute, /*least=*/0);
  if (name == attributes::passSeconds)
    return verifyPassSeconds(op, value);
  if (name == attributes::roomBytes)
    return verifyBytesOfFunction(op, attribute, 1, "one per position");
  if (name == attributes::passBytes)
    return verifyBytesOfFunction(op, attribute, 5, "five per stage");
  if (name == attributes::boundarySeconds)
    return verifyBoundarySeconds(op, value);
  if (name == attributes::passTable)
    return verifyPassTable(op, value);
  if (name == attributes::stage || name == attributes::microBatch)
    return verifyNumber(op, attribute);
  if (name == attributes::tier)
    return verifyTier(op, attribute);
  if (name == attributes::role)
    return verifyChoice(op, attribute,
                        {roles::forward, roles::loss, roles::inputGradient,
                         roles::weightGradient, roles::gradientSum,
                         roles::optimizer});
  bool isUnit = name == attributes::perMicroBatch ||
                name == attributes::forwardOnly ||
                name == attributes::gatherAgain ||
                name == attributes::recompute || name == attributes::relay ||
                name == attributes::perVisit || name == attributes::inPieces;
  if (isUnit && !isa<UnitAttr>(value))
    return op->emitOpError() << "'" << name << "' must be a unit attribute";
  bool isInteger = name == attributes::block || name == attributes::node ||
                   name == attributes::group || name == attributes::paddingId;
  if (isInteger && (!isa<IntegerAttr>(value) ||
                    !cast<IntegerAttr>(value).getType().isInteger(64)))
    return op->emitOpError() << "'" << name << "' must be an i64 attribute";
  if (name == attributes::paddingId && !isa<EmbeddingOp>(op))
    return op->emitOpError() << "'" << name << "' belongs to an embedding";
  bool isText =
      name == attributes::onnxOp || name == attributes::pipelineSchedule;
  if (isText && !isa<StringAttr>(value))
    return op->emitOpError() << "'" << name << "' must be a string attribute";
  return success();
}

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
    FailureOr<Sharding> sharding = verifyShardingOf(
        op, name, attribute.getValue(),
        getGlobalType(function.getArgAttr(index, attributes::globalType),
                      function.getArgumentTypes()[index]));
    if (failed(sharding))
      return failure();
    if (sharding->isPartial())
      return op->emitOpError()
             << "argument " << index
             << " is pending; values enter a function complete (S8)";
  }
  if (name == attributes::globalType)
    return verifyGlobalType(op, attribute.getValue());
  if (name == attributes::name && !isa<StringAttr>(attribute.getValue()))
    return op->emitOpError() << "'" << name << "' must be a string attribute";
  if (name == attributes::batch && !isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError() << "'" << name << "' must be a unit attribute";
  if (name == attributes::schedule)
    return verifySchedule(function, index, attribute);
  if (name == attributes::zigzag)
    return verifyZigzag(
        op, attribute.getValue(),
        getGlobalType(function.getArgAttr(index, attributes::globalType),
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
    FailureOr<Sharding> sharding = verifyShardingOf(
        op, name, attribute.getValue(),
        getGlobalType(function.getResultAttr(index, attributes::globalType),
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
        getGlobalType(function.getResultAttr(index, attributes::globalType),
                      function.getResultTypes()[index]));
  if (name == attributes::batchDim)
    return verifyNumber(op, attribute);
  if (name == attributes::globalType)
    return verifyGlobalType(op, attribute.getValue());
  if (name == attributes::name && !isa<StringAttr>(attribute.getValue()))
    return op->emitOpError() << "'" << name << "' must be a string attribute";
  return success();
}

} // namespace parplan
