//===- Machine.cpp - Runs the body of one function ------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Machine.h"

#include <limits>

using namespace mlir;

namespace parplan {

/// The whole of a variable of `type`, which `op` reads.
static FailureOr<Tensor> readVariable(Operation *op, VariableAttr variable,
                                      RankedTensorType type,
                                      const InitializerValues &initializers) {
  StringRef name = variable.getInitializer().getValue();
  StringAttr slot = variable.getSlot();
  auto found =
      initializers.find(slot ? getSlotName(name, slot.getValue()) : name.str());
  if (slot && found == initializers.end())
    return Tensor(type);
  if (found == initializers.end())
    return op->emitOpError("there is no value for ")
           << variable.getInitializer();
  const Tensor &whole = found->second;
  ViewAttr view = variable.getView();
  if (!view)
    return whole;
  Tensor value(type);
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index, int64_t position) {
    value[position] =
        whole[view.getOffset() + getPosition(index, view.getStrides())];
  });
  return value;
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

static bool isMoveOp(Operation *op) {
  return isa<ReshardOp>(op) || op->hasAttr("out_sharding");
}

Machine::Machine(const InitializerValues &initializers, const Mesh *mesh,
                 RankObserver observer)
    : initializers(initializers), mesh(mesh), observer(observer),
      rankCount(mesh ? mesh->getRankCount() : 1) {}

void Machine::start(func::FuncOp function, std::vector<Values> arguments) {
  Block &body = function.getBody().front();
  for (auto [argument, values] :
       llvm::zip_equal(body.getArguments(), arguments))
    blocks[argument] = std::move(values);
  if (function->hasAttr(attributes::position))
    if (MeshAxisAttr axis =
            getPipelineAxis(getOnlyMesh(function->getParentOp())))
      pipelineAxis = axis.getName();
  next = &body.front();
}

LogicalResult Machine::advance() {
  for (; !isAtEnd() && !needsOthers(next); skip())
    if (failed(evaluate(next)))
      return failure();
  return success();
}

FailureOr<std::vector<Values>> Machine::run(func::FuncOp function,
                                            std::vector<Values> arguments) {
  start(function, std::move(arguments));
  if (failed(advance()))
    return failure();
  if (!isAtEnd())
    return next->emitOpError("needs the programs of other positions");
  return getResults();
}

std::vector<Values> Machine::getResults() const {
  std::vector<Values> results;
  for (Value result : next->getOperands())
    results.push_back(blocks.lookup(result));
  return results;
}

bool Machine::needsOthers(Operation *op) const {
  if (isa<PointToPointOpInterface>(op))
    return true;
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && !pipelineAxis.empty() &&
         llvm::any_of(
             collective.getCollectiveAxes().getNames(),
             [&](StringAttr name) { return name.getValue() == pipelineAxis; });
}

LogicalResult Machine::define(OpResult result, Values values) {
  if (mesh && observer && failed(observer(result, values)))
    return failure();
  blocks[result] = std::move(values);
  return success();
}

LogicalResult Machine::evaluate(Operation *op) {
  if (isMoveOp(op)) {
    if (!mesh)
      return define(op->getResult(0), blocks.lookup(op->getOperand(0)));
    FailureOr<Values> after =
        evaluateMove(op, *mesh, blocks.lookup(op->getOperand(0)));
    return failed(after) ? failure() : define(op->getResult(0), *after);
  }
  if (auto parameter = dyn_cast<ParameterOp>(op))
    return evaluateParameter(parameter);
  if (auto bucket = dyn_cast<BucketParameterOp>(op))
    return evaluateBucketParameter(bucket);
  if (auto transfer = dyn_cast<TransferOp>(op))
    return define(cast<OpResult>(transfer.getResult()),
                  blocks.lookup(transfer.getInput()));
  if (auto start = dyn_cast<BlockStartOp>(op))
    return evaluateBlockStart(start);
  if (auto clearing = dyn_cast<ClearPaddingOp>(op))
    return evaluateClearing(clearing);
  if (auto product = dyn_cast<PanelMatmulOp>(op))
    return evaluatePanelMatmul(product);
  if (isa<RingAttentionOp, RingAttentionGradientOp>(op))
    return evaluateRingOp(op);
  return evaluateOnRanks(op);
}

LogicalResult Machine::evaluateOnRanks(Operation *op) {
  std::vector<Values> results(op->getNumResults());
  for (int64_t rank = 0; rank < rankCount; ++rank) {
    SmallVector<const Tensor *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(&blocks.find(operand)->second[rank]);
    FailureOr<Values> values = evaluateOp(op, operands);
    if (failed(values))
      return failure();
    for (auto [result, value] : llvm::zip_equal(results, *values))
      result.push_back(std::move(value));
  }
  for (OpResult result : op->getResults())
    if (failed(define(result, std::move(results[result.getResultNumber()]))))
      return failure();
  return success();
}

LogicalResult Machine::evaluateParameter(ParameterOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto global = op->getAttrOfType<TypeAttr>(attributes::globalType);
  if (mesh && !global)
    return op.emitOpError("has no ") << attributes::globalType;
  if (global)
    type = cast<RankedTensorType>(global.getValue());
  FailureOr<Tensor> whole =
      readVariable(op, op.getVariable(), type, initializers);
  if (failed(whole))
    return failure();
  if (!mesh)
    return define(cast<OpResult>(op.getResult()), {*whole});
  ShardingAttr sharding = getSharding(op.getResult());
  if (!sharding)
    return op.emitOpError("has no ") << attributes::shardings;
  return define(cast<OpResult>(op.getResult()),
                shard(*whole, *sharding.resolve(*mesh), *mesh));
}

LogicalResult Machine::evaluateBucketParameter(BucketParameterOp op) {
  auto global = op->getAttrOfType<TypeAttr>(attributes::globalType);
  ShardingAttr sharding = getSharding(op.getResult());
  if (!mesh || !global || !sharding)
    return op.emitOpError("is read on ranks, and needs ")
           << attributes::globalType << " and " << attributes::shardings;
  Values values;
  SmallVector<MemberAttr> members(op.getMembers().getAsRange<MemberAttr>());
  for (MemberAttr member : members) {
    FailureOr<Tensor> value =
        readVariable(op, member.getVariable(), member.getType(), initializers);
    if (failed(value))
      return failure();
    values.push_back(std::move(*value));
  }
  return define(cast<OpResult>(op.getResult()),
                shardBucket(values, members,
                            cast<RankedTensorType>(global.getValue()),
                            *sharding.resolve(*mesh), *mesh));
}

LogicalResult Machine::evaluateBlockStart(BlockStartOp op) {
  Values starts;
  for (int64_t rank = 0; rank < rankCount; ++rank) {
    starts.emplace_back(cast<RankedTensorType>(op.getResult().getType()));
    if (mesh)
      starts.back()[0].integer =
          mesh->getInterval(op.getSize(), *op.getAxes().resolve(*mesh), rank)
              .start;
  }
  return define(cast<OpResult>(op.getResult()), starts);
}

SmallVector<const Values *> Machine::getOperands(Operation *op) {
  SmallVector<const Values *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(&blocks.find(operand)->second);
  return operands;
}

LogicalResult Machine::evaluatePanelMatmul(PanelMatmulOp op) {
  if (!mesh)
    return op.emitOpError("is of a local program, and runs on its ranks");
  return define(cast<OpResult>(op.getResult()),
                evaluatePanels(op, *mesh, getOperands(op)));
}

LogicalResult Machine::evaluateRingOp(Operation *op) {
  if (!mesh)
    return op->emitOpError("is of a local program, and runs on its ranks");
  std::vector<Values> results = evaluateRing(op, *mesh, getOperands(op));
  for (auto [result, values] : llvm::zip_equal(op->getResults(), results))
    if (failed(define(result, std::move(values))))
      return failure();
  return success();
}

LogicalResult Machine::evaluateClearing(ClearPaddingOp op) {
  Values values = blocks.lookup(op.getInput());
  for (int64_t rank = 0; mesh && rank < rankCount; ++rank)
    clear(op, values[rank], rank);
  return define(cast<OpResult>(op.getResult()), std::move(values));
}

void Machine::clear(ClearPaddingOp op, Tensor &value, int64_t rank) {
  double fill = op.getFill().convertToDouble();
  Scalar filler{};
  if (value.isReal())
    filler.real = fill;
  else if (fill < 0)
    filler = value.getLeast();
  for (auto [dim, size, axes] :
       llvm::zip_equal(op.getDims(), op.getSizes(),
                       op.getAxes().getAsRange<AxisListAttr>())) {
    int64_t held = mesh->getInterval(size, *axes.resolve(*mesh), rank).size();
    forEachIndex(value.getShape(),
                 [&, dim = dim](ArrayRef<int64_t> index, int64_t position) {
                   if (index[dim] >= held)
                     value[position] = filler;
                 });
  }
}

} // namespace parplan
