//===- Localize.cpp - From global types to the blocks of one rank ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/FunctionAttributes.h"
#include "dialects/parplan/ParplanOps.h"
#include "dialects/parplan/TensorTypes.h"
#include "parplan/Support/Check.h"
#include "passes/Partition/Layouts.h"
#include "passes/Partition/LocalOffsets.h"
#include "passes/Partition/LocalRings.h"
#include "passes/Partition/Padding.h"
#include "passes/Partition/PanelLoops.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/ShardingAccess.h"

#include "mlir/IR/IRMapping.h"

#include <limits>

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_LOCALIZE
#include "passes/Partition/Passes.h.inc"

namespace {

/// Builds the local program beside the global one, which is erased at the end:
/// until then rules and shardings are read from ops with global types.
class Localizer {
public:
  explicit Localizer(const ShardingAccess &access) : access(access) {}

  LogicalResult run(func::FuncOp function) {
    if (failed(verifyLayouts(function, access)))
      return failure();
    Block &body = function.getBody().front();
    SmallVector<Operation *> globalOps;
    for (Operation &op : body)
      globalOps.push_back(&op);
    size_t argumentCount = body.getNumArguments();
    if (failed(addArguments(function, body)))
      return failure();
    for (Operation *op : globalOps) {
      Operation *previous = op->getPrevNode();
      if (failed(localize(function, op)))
        return failure();
      // Also what shifts positions and clears padding runs when the op does.
      for (Operation *local = previous ? previous->getNextNode()
                                       : &body.front();
           local != op; local = local->getNextNode())
        copyOrigin(op, local);
    }
    for (Operation *op : llvm::reverse(globalOps))
      op->erase();
    body.eraseArguments(0, argumentCount);
    updateType(function, body);
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // The function
  //===--------------------------------------------------------------------===//

  LogicalResult addArguments(func::FuncOp function, Block &body) {
    SmallVector<BlockArgument> arguments(body.getArguments());
    for (BlockArgument argument : arguments) {
      FailureOr<Sharding> sharding = access.getSharding(argument);
      if (failed(sharding))
        return failure();
      RankedTensorType type = getTensorType(argument);
      mapping.map(argument,
                  body.addArgument(access.getLocalType(type, *sharding),
                                   argument.getLoc()));
    }
    setArgumentAttributes(function, attributes::globalType,
                          [&](unsigned index) {
                            return TypeAttr::get(arguments[index].getType());
                          });
    return success();
  }

  void localizeReturn(func::FuncOp function, func::ReturnOp op) {
    setResultAttributes(function, attributes::globalType, [&](unsigned index) {
      return TypeAttr::get(op.getOperand(index).getType());
    });
    OpBuilder(op).clone(*op, mapping);
  }

  static void updateType(func::FuncOp function, Block &body) {
    function.setFunctionType(
        FunctionType::get(function.getContext(), body.getArgumentTypes(),
                          body.getTerminator()->getOperandTypes()));
  }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  LogicalResult localize(func::FuncOp function, Operation *op) {
    if (auto terminator = dyn_cast<func::ReturnOp>(op)) {
      localizeReturn(function, terminator);
      return success();
    }
    if (isSource(op))
      return localizeSource(op);
    if (auto rules = dyn_cast<ShardingRuleOpInterface>(op))
      return localizeTensorOp(rules);
    if (!isMove(op))
      return op->emitOpError("cannot be localised");
    OpBuilder builder(op);
    Operation *local = builder.clone(*op, mapping);
    return setLocalTypes(op, local);
  }

  LogicalResult localizeSource(Operation *op) {
    Value result = op->getResult(0);
    FailureOr<Sharding> sharding = access.getSharding(result);
    if (failed(sharding))
      return failure();
    RankedTensorType type = getTensorType(result);
    OpBuilder builder(op);
    bool canBeDirty = true;
    Value local;
    if (auto iota = dyn_cast<IotaOp>(op)) {
      local = createLocalIota(builder, iota, *sharding, access);
    } else if (auto mask = dyn_cast<AffineMaskOp>(op)) {
      local = createLocalMask(builder, mask, *sharding, access);
    } else {
      // Parameters are loaded with zero padding.
      Operation *clone = builder.clone(*op);
      clone->getResult(0).setType(access.getLocalType(type, *sharding));
      if (auto constant = dyn_cast<ConstantOp>(clone)) {
        auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
        if (splat)
          constant.setValueAttr(splat.resizeSplat(
              cast<ShapedType>(clone->getResult(0).getType())));
        else if (sharding->isSplit())
          return op->emitOpError("differs between ranks: a constant that is no "
                                 "splat is made whole and then cut");
      }
      canBeDirty = isa<ConstantOp>(op);
      local = clone->getResult(0);
    }
    annotate(local.getDefiningOp(), op);
    DimBlocks padded =
        getPaddedDims(type.getShape(), *sharding, access.getMesh());
    if (canBeDirty && !padded.empty())
      local = clear(builder, op, local, padded, /*fill=*/0);
    mapping.map(result, local);
    return success();
  }

  LogicalResult localizeTensorOp(ShardingRuleOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    FailureOr<FactorAssignment> assignment = access.getAssignment(op, rule);
    if (failed(assignment))
      return failure();
    if (assignment->panels.exists() &&
        isa<AttentionOp, AttentionGradientOp>(op))
      return localizeRing(op, rule, *assignment);
    if (isInZigzagOrder(op))
      return op->emitOpError("S22: lies in zig-zag order, but is no ring");
    OpBuilder builder(op);
    Operation *local = createLocal(builder, op, rule, *assignment);
    adjustOperands(op, local, rule, *assignment);
    if (failed(setLocalTypes(op, local)))
      return failure();
    for (OpResult result : op->getResults()) {
      unsigned index = result.getResultNumber();
      DimBlocks dirty =
          getDirtyDims(op, rule, *assignment, access.getMesh(), index);
      if (!dirty.empty())
        mapping.map(result, clear(builder, op, local->getResult(index), dirty,
                                  /*fill=*/0, index));
    }
    return success();
  }

  static bool isInZigzagOrder(Operation *op) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      return attention.getZigzag() > 1;
    auto gradient = dyn_cast<AttentionGradientOp>(op);
    return gradient && gradient.getZigzag() > 1;
  }

  /// An attention whose keys come in panels. What grows block by block is wide,
  /// and rounded at the end.
  LogicalResult localizeRing(Operation *op, const ShardingRule &rule,
                             const FactorAssignment &assignment) {
    OpBuilder builder(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(mapping.lookup(operand));
    FailureOr<Operation *> ring =
        createRingOp(builder, op, operands, rule, assignment, access);
    if (failed(ring))
      return failure();
    annotate(*ring, op);
    for (OpResult result : op->getResults()) {
      unsigned index = result.getResultNumber();
      FailureOr<Sharding> sharding = access.getSharding(result);
      if (failed(sharding))
        return failure();
      RankedTensorType type =
          access.getLocalType(getTensorType(result), *sharding);
      Value local = (*ring)->getResult(index);
      PARPLAN_CHECK(getTensorType(local).getShape() == type.getShape(),
                    "S3: a ring makes other blocks than the shardings say");
      DimBlocks dirty = getDirtyDims(cast<ShardingRuleOpInterface>(op), rule,
                                     assignment, access.getMesh(), index);
      if (!dirty.empty())
        local = clear(builder, op, local, dirty, /*fill=*/0, index);
      if (local.getType() != type) {
        auto rounded = builder.create<CastOp>(op->getLoc(), type, local);
        annotateResult(rounded, op, index);
        local = rounded;
      }
      mapping.map(result, local);
    }
    return success();
  }

  /// The op on local operands.
  Operation *createLocal(OpBuilder &builder, Operation *op,
                         const ShardingRule &rule,
                         const FactorAssignment &assignment) {
    if (!assignment.panels.exists())
      return builder.clone(*op, mapping);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(mapping.lookup(operand));
    Operation *local =
        createPanelOp(builder, op, operands, rule, assignment, access);
    mapping.map(op->getResults(), local->getResults());
    return local;
  }

  /// What depends on the position or the padding of an operand's block.
  void adjustOperands(Operation *op, Operation *local, const ShardingRule &rule,
                      const FactorAssignment &assignment) {
    auto getAxes = [&](int operand, int dim) {
      return getUseSharding(rule, assignment, operand).dims[dim];
    };
    if (auto embedding = dyn_cast<EmbeddingOp>(local)) {
      AxisList axes = getAxes(/*operand=*/1, /*dim=*/0);
      if (!axes.empty())
        shiftIds(embedding.getIdsMutable(),
                 getTensorType(op->getOperand(1)).getDimSize(0), axes, access);
    } else if (auto gradient = dyn_cast<EmbeddingGradientOp>(local)) {
      AxisList axes = getMadeSharding(rule, assignment, /*result=*/0).dims[0];
      if (!axes.empty())
        shiftIds(gradient.getIdsMutable(),
                 getTensorType(op->getResult(0)).getDimSize(0), axes, access);
    } else if (isa<AttentionOp, AttentionGradientOp>(local)) {
      AxisList queries = getAxes(/*operand=*/0, /*dim=*/1);
      AxisList keys = getAxes(/*operand=*/1, /*dim=*/1);
      shiftQueries(
          local, {getTensorType(op->getOperand(0)).getDimSize(1), queries},
          {getTensorType(op->getOperand(1)).getDimSize(1), keys}, access);
    } else if (dependsOnExperts(local)) {
      if (std::optional<int> experts = rule.findNumbered())
        if (const AxisList &axes = assignment.axes[*experts]; !axes.empty())
          shiftExperts(local, rule.factors[*experts].size, axes, access);
    } else if (isa<ConvOp, ConvInputGradientOp, ConvWeightGradientOp>(local)) {
      // Split groups: a rank has those of its channels.
      if (std::optional<int> groups = rule.findFactor("g"))
        local->setAttr("groups",
                       OpBuilder(local).getI64IntegerAttr(getLocalFactorSizes(
                           rule, assignment, access.getMesh())[*groups]));
    } else if (isa<ReduceOp>(local)) {
      DimBlocks padded =
          getPaddedMaximumDims(rule, assignment, access.getMesh());
      OpBuilder builder(local);
      if (!padded.empty())
        local->setOperand(
            0, clearPadding(builder, op->getLoc(), access, local->getOperand(0),
                            padded, -std::numeric_limits<double>::infinity()));
    } else {
      // Whose numbers begin elsewhere is one of the above.
      for (auto [factor, axes] : llvm::zip_equal(rule.factors, assignment.axes))
        PARPLAN_CHECK(!factor.isNumbered || axes.empty(), "numbers of factor ",
                      factor.name, " are not shifted: ",
                      std::string_view(op->getName().getStringRef()));
    }
  }

  /// Gives `local` the types that follow from the shardings of `op`, and
  /// compares them with what the op infers from its local operands.
  LogicalResult setLocalTypes(Operation *op, Operation *local) {
    SmallVector<Type> derived;
    for (OpResult result : op->getResults()) {
      FailureOr<Sharding> sharding = access.getSharding(result);
      if (failed(sharding))
        return failure();
      derived.push_back(access.getLocalType(getTensorType(result), *sharding));
      local->getResult(result.getResultNumber()).setType(derived.back());
    }
    annotate(local, op);
    auto inferable = dyn_cast<InferTypeOpInterface>(local);
    if (!inferable)
      return success();
    SmallVector<Type> inferred;
    LogicalResult isInferred = inferable.inferReturnTypes(
        local->getContext(), local->getLoc(), local->getOperands(),
        local->getAttrDictionary(), local->getPropertiesStorage(),
        local->getRegions(), inferred);
    PARPLAN_CHECK(succeeded(isInferred) && inferred == derived,
                  "S3: local operands and shardings give different types: ",
                  std::string_view(op->getName().getStringRef()));
    return success();
  }

  Value clear(OpBuilder &builder, Operation *op, Value local,
              const DimBlocks &blocks, double fill, unsigned index = 0) {
    Value cleared =
        clearPadding(builder, op->getLoc(), access, local, blocks, fill);
    annotateResult(cleared.getDefiningOp(), op, index);
    return cleared;
  }

  /// Hands on what `op` says of one of its results.
  static void annotateResult(Operation *local, Operation *op, unsigned index) {
    auto list = op->getAttrOfType<ArrayAttr>(attributes::shardings);
    local->setAttr(attributes::shardings,
                   ArrayAttr::get(op->getContext(), {list[index]}));
    local->setAttr(attributes::globalType,
                   TypeAttr::get(op->getResult(index).getType()));
    copyOrigin(op, local);
  }

  /// Hands on what the global op says. Factors are those of global types.
  static void annotate(Operation *local, Operation *op) {
    local->removeAttr(attributes::factors);
    if (Attribute shardings = op->getAttr(attributes::shardings))
      local->setAttr(attributes::shardings, shardings);
    setGlobalTypes(local, op->getResultTypes());
    copyOrigin(op, local);
  }

  const ShardingAccess &access;
  IRMapping mapping;
};

struct LocalizePass : impl::LocalizeBase<LocalizePass> {
  void runOnOperation() override {
    FailureOr<ShardingAccess> access = ShardingAccess::create(getOperation());
    if (failed(access))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(Localizer(*access).run(function)))
        signalPassFailure();
  }
};

} // namespace
} // namespace parplan
