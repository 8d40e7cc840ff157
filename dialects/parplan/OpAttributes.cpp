//===- OpAttributes.cpp - Verification of parplan.* of ops ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/AttributeVerifiers.h"
#include "dialects/parplan/PaddingId.h"
#include "dialects/parplan/ParplanOps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace parplan {

static LogicalResult verifyShardings(Operation *op, NamedAttribute attribute) {
  auto all = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!all || all.size() != op->getNumResults())
    return op->emitOpError() << "'" << attributes::shardings
                             << "' must have one sharding for each of the "
                             << op->getNumResults() << " results";
  for (auto [index, sharding] : llvm::enumerate(all))
    if (failed(
            verifyShardingOf(op, attributes::shardings, sharding,
                             getTypeOfBlocks(getGlobalType(op, index),
                                             op->getResult(index).getType()))))
      return failure();
  return success();
}

/// S2, S7, S8 and the names of the factors.
static LogicalResult verifyFactors(Operation *op, NamedAttribute attribute) {
  auto factors = dyn_cast<FactorsAttr>(attribute.getValue());
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!factors || !ruled)
    return op->emitOpError()
           << "'" << attributes::factors
           << "' must be #parplan.factors of an op with a sharding rule";
  FailureOr<MeshAttr> meshAttr =
      resolveMesh(op, attributes::factors, factors.getMesh());
  if (failed(meshAttr))
    return failure();
  const Mesh &mesh = meshAttr->getMesh();
  ShardingRule rule = ruled.getShardingRule();
  for (StringAttr name : factors.getNames())
    if (!rule.findFactor(name.getValue()))
      return op->emitOpError()
             << "'" << attributes::factors << "' assigns axes to the factor "
             << name << ", which the op lacks (S7)";
  FailureOr<FactorAssignment> assignment = factors.resolve(rule, mesh);
  if (failed(assignment))
    return op->emitOpError() << "'" << attributes::factors << "' " << factors
                             << " names an axis that the mesh "
                             << factors.getMesh() << " lacks (S2)";
  if (std::optional<std::string> problem =
          verifyAssignment(rule, *assignment, mesh))
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
static LogicalResult verifyPassSeconds(Operation *op,
                                       NamedAttribute attribute) {
  auto seconds = dyn_cast<DenseF64ArrayAttr>(attribute.getValue());
  if (isa<FunctionOpInterface>(op) && seconds && !seconds.empty() &&
      seconds.size() % 3 == 0 &&
      llvm::all_of(seconds.asArrayRef(), [](double time) { return time >= 0; }))
    return success();
  return op->emitOpError() << "'" << attributes::passSeconds
                           << "' must be an array<f64> of a function, three "
                              "times per stage";
}

/// None of them negative.
static LogicalResult verifyBoundarySeconds(Operation *op,
                                           NamedAttribute attribute) {
  auto seconds = dyn_cast<DenseF64ArrayAttr>(attribute.getValue());
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

static LogicalResult verifyPassTable(Operation *op, NamedAttribute attribute) {
  auto positions = dyn_cast<ArrayAttr>(attribute.getValue());
  if (isa<FunctionOpInterface>(op) && positions &&
      llvm::all_of(positions, llvm::IsaPred<StringAttr>))
    return success();
  return op->emitOpError() << "'" << attributes::passTable
                           << "' must be an array of strings of a function, "
                              "the passes of each position";
}

static LogicalResult verifyInteger(Operation *op, NamedAttribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute.getValue());
  if (number && number.getType().isInteger(64))
    return success();
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' must be an i64 attribute";
}

static LogicalResult verifyPaddingId(Operation *op, NamedAttribute attribute) {
  if (failed(verifyInteger(op, attribute)))
    return failure();
  if (isa<EmbeddingOp>(op))
    return success();
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' belongs to an embedding";
}

using VerifyOfOp = LogicalResult (*)(Operation *, NamedAttribute);

/// What the attributes of ops have to be, by their names.
static const llvm::StringMap<VerifyOfOp> &getVerifiersOfOps() {
  static const llvm::StringMap<VerifyOfOp> verifiers = {
      {attributes::factors, verifyFactors},
      {attributes::shardings, verifyShardings},
      {attributes::globalType, verifyGlobalType},
      {attributes::microBatches,
       [](Operation *op, NamedAttribute attribute) {
         return verifyNumberOfFunction(op, attribute, /*least=*/1);
       }},
      {attributes::position,
       [](Operation *op, NamedAttribute attribute) {
         return verifyNumberOfFunction(op, attribute, /*least=*/0);
       }},
      {attributes::staleness,
       [](Operation *op, NamedAttribute attribute) {
         return verifyNumberOfFunction(op, attribute, /*least=*/0);
       }},
      {attributes::passSeconds, verifyPassSeconds},
      {attributes::roomBytes,
       [](Operation *op, NamedAttribute attribute) {
         return verifyBytesOfFunction(op, attribute, 1, "one per position");
       }},
      {attributes::passBytes,
       [](Operation *op, NamedAttribute attribute) {
         return verifyBytesOfFunction(op, attribute, 5, "five per stage");
       }},
      {attributes::boundarySeconds, verifyBoundarySeconds},
      {attributes::passTable, verifyPassTable},
      {attributes::stage, verifyNumber},
      {attributes::microBatch, verifyNumber},
      {attributes::tier, verifyTier},
      {attributes::role,
       [](Operation *op, NamedAttribute attribute) {
         return verifyChoice(op, attribute,
                             {roles::forward, roles::loss, roles::inputGradient,
                              roles::weightGradient, roles::gradientSum,
                              roles::optimizer});
       }},
      {attributes::perMicroBatch, verifyUnit},
      {attributes::forwardOnly, verifyUnit},
      {attributes::gatherAgain, verifyUnit},
      {attributes::recompute, verifyUnit},
      {attributes::relay, verifyUnit},
      {attributes::perVisit, verifyUnit},
      {attributes::inPieces, verifyUnit},
      {attributes::block, verifyInteger},
      {attributes::node, verifyInteger},
      {attributes::group, verifyInteger},
      {attributes::paddingId, verifyPaddingId},
      {attributes::onnxOp, verifyString},
      {attributes::pipelineSchedule, verifyString},
  };
  return verifiers;
}

LogicalResult
ParplanDialect::verifyOperationAttribute(Operation *op,
                                         NamedAttribute attribute) {
  const llvm::StringMap<VerifyOfOp> &verifiers = getVerifiersOfOps();
  auto verify = verifiers.find(attribute.getName());
  return verify == verifiers.end() ? success() : verify->second(op, attribute);
}

} // namespace parplan
