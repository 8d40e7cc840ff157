//===- Interpreter.cpp - Runs a function on one or N ranks ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Interpreter/Interpreter.h"

#include "lib/Interpreter/Families.h"
#include "parplan/Support/Check.h"

#include <limits>

using namespace mlir;

namespace parplan {

Tensor Evaluation::makeResult(unsigned index) const {
  return Tensor(cast<RankedTensorType>(op->getResult(index).getType()));
}

FailureOr<Values> evaluateOp(Operation *op, ArrayRef<const Tensor *> operands) {
  Evaluation evaluation{op, operands};
  for (auto *evaluate :
       {evaluateElementwise, evaluateShape, evaluateIndexing, evaluateReduction,
        evaluateNorm, evaluateProduct, evaluateWindow, evaluateAttention,
        evaluateTraining, evaluateBucket, evaluateExperts}) {
    MaybeValues values = evaluate(evaluation);
    if (!values)
      continue;
    if (succeeded(*values))
      for (Tensor &value : **values)
        value.roundToType();
    return std::move(*values);
  }
  return op->emitOpError("cannot be interpreted");
}

//===----------------------------------------------------------------------===//
// Parameters and blocks
//===----------------------------------------------------------------------===//

std::string getSlotName(llvm::StringRef initializer, llvm::StringRef slot) {
  return (initializer + "/" + slot).str();
}

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

std::vector<Tensor> shard(const Tensor &value, const Sharding &sharding,
                          const Mesh &mesh) {
  RankedTensorType type = value.getType();
  type =
      sharding.isStored()
          ? type.clone({sharding.getLocalElementCount(mesh, type.getShape())})
          : type.clone(sharding.getLocalShape(mesh, type.getShape()));
  Bytes bytes = value.getBytes();
  std::vector<Tensor> blocks;
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
    blocks.push_back(Tensor::fromBytes(
        type, shardTensor(mesh, value.getLayout(), sharding, rank, bytes)));
  return blocks;
}

std::optional<std::string> unshard(ArrayRef<Tensor> blocks,
                                   RankedTensorType globalType,
                                   const Sharding &sharding, const Mesh &mesh,
                                   Tensor &value) {
  std::vector<Bytes> bytes;
  for (const Tensor &block : blocks)
    bytes.push_back(block.getBytes());
  value = Tensor(globalType);
  Bytes global;
  if (auto fault =
          unshardTensor(mesh, value.getLayout(), sharding, bytes, global))
    return fault;
  value = Tensor::fromBytes(globalType, global);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Machine
//===----------------------------------------------------------------------===//

namespace {

/// Runs the body of a function. A local program has one value per rank, a
/// global one a single value, which moves do not change.
class Machine {
public:
  Machine(const InitializerValues &initializers, const Mesh *mesh,
          RankObserver observer)
      : initializers(initializers), mesh(mesh), observer(observer),
        rankCount(mesh ? mesh->getRankCount() : 1) {}

  FailureOr<std::vector<Values>> run(func::FuncOp function,
                                     std::vector<Values> arguments) {
    Block &body = function.getBody().front();
    for (auto [argument, values] :
         llvm::zip_equal(body.getArguments(), arguments))
      blocks[argument] = std::move(values);
    for (Operation &op : body.without_terminator())
      if (failed(evaluate(&op)))
        return failure();
    std::vector<Values> results;
    for (Value result : body.getTerminator()->getOperands())
      results.push_back(blocks.lookup(result));
    return results;
  }

private:
  LogicalResult evaluate(Operation *op) {
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

  static bool isMoveOp(Operation *op) {
    return isa<ReshardOp>(op) || op->hasAttr("out_sharding");
  }

  LogicalResult define(OpResult result, Values values) {
    if (mesh && observer && failed(observer(result, values)))
      return failure();
    blocks[result] = std::move(values);
    return success();
  }

  LogicalResult evaluateOnRanks(Operation *op) {
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

  LogicalResult evaluateParameter(ParameterOp op) {
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

  LogicalResult evaluateBucketParameter(BucketParameterOp op) {
    auto global = op->getAttrOfType<TypeAttr>(attributes::globalType);
    ShardingAttr sharding = getSharding(op.getResult());
    if (!mesh || !global || !sharding)
      return op.emitOpError("is read on ranks, and needs ")
             << attributes::globalType << " and " << attributes::shardings;
    Values values;
    SmallVector<MemberAttr> members(op.getMembers().getAsRange<MemberAttr>());
    for (MemberAttr member : members) {
      FailureOr<Tensor> value = readVariable(op, member.getVariable(),
                                             member.getType(), initializers);
      if (failed(value))
        return failure();
      values.push_back(std::move(*value));
    }
    return define(cast<OpResult>(op.getResult()),
                  shardBucket(values, members,
                              cast<RankedTensorType>(global.getValue()),
                              *sharding.resolve(*mesh), *mesh));
  }

  LogicalResult evaluateBlockStart(BlockStartOp op) {
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

  LogicalResult evaluatePanelMatmul(PanelMatmulOp op) {
    if (!mesh)
      return op.emitOpError("is of a local program, and runs on its ranks");
    return define(cast<OpResult>(op.getResult()),
                  evaluatePanels(op, *mesh, blocks.find(op.getLhs())->second,
                                 blocks.find(op.getRhs())->second));
  }

  LogicalResult evaluateRingOp(Operation *op) {
    if (!mesh)
      return op->emitOpError("is of a local program, and runs on its ranks");
    SmallVector<const Values *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(&blocks.find(operand)->second);
    std::vector<Values> results = evaluateRing(op, *mesh, operands);
    for (auto [result, values] : llvm::zip_equal(op->getResults(), results))
      if (failed(define(result, std::move(values))))
        return failure();
    return success();
  }

  LogicalResult evaluateClearing(ClearPaddingOp op) {
    Values values = blocks.lookup(op.getInput());
    for (int64_t rank = 0; mesh && rank < rankCount; ++rank)
      clear(op, values[rank], rank);
    return define(cast<OpResult>(op.getResult()), std::move(values));
  }

  void clear(ClearPaddingOp op, Tensor &value, int64_t rank) {
    double fill = op.getFill().convertToDouble();
    Scalar filler;
    if (value.isReal())
      filler.real = fill;
    else
      filler.integer = fill < 0 ? std::numeric_limits<int64_t>::min() : 0;
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

  const InitializerValues &initializers;
  const Mesh *mesh;
  RankObserver observer;
  int64_t rankCount;
  DenseMap<Value, Values> blocks;
};

} // namespace

FailureOr<std::vector<Tensor>>
interpret(func::FuncOp function, ArrayRef<Tensor> arguments,
          const InitializerValues &initializers) {
  std::vector<Values> inputs;
  for (const Tensor &argument : arguments)
    inputs.push_back({argument});
  Machine machine(initializers, /*mesh=*/nullptr, /*observer=*/nullptr);
  FailureOr<std::vector<Values>> results =
      machine.run(function, std::move(inputs));
  if (failed(results))
    return failure();
  std::vector<Tensor> values;
  for (Values &result : *results)
    values.push_back(std::move(result.front()));
  return values;
}

FailureOr<std::vector<Tensor>>
interpretRanks(func::FuncOp function, ArrayRef<Tensor> arguments,
               const InitializerValues &initializers, RankObserver observer) {
  MeshOp meshOp = getOnlyMesh(function->getParentOp());
  if (!meshOp)
    return function.emitOpError("needs a module with exactly one mesh");
  Mesh mesh = meshOp.getMesh().getMesh();
  std::vector<Values> inputs;
  for (auto [argument, value] :
       llvm::zip_equal(function.getArguments(), arguments)) {
    ShardingAttr sharding = getSharding(argument);
    if (!sharding)
      return function.emitOpError("argument ")
             << argument.getArgNumber() << " has no " << attributes::sharding;
    inputs.push_back(shard(value, *sharding.resolve(mesh), mesh));
  }
  FailureOr<std::vector<Values>> results =
      Machine(initializers, &mesh, observer).run(function, std::move(inputs));
  if (failed(results))
    return failure();
  std::vector<Tensor> values;
  for (auto [index, blocks] : llvm::enumerate(*results)) {
    auto sharding =
        function.getResultAttrOfType<ShardingAttr>(index, attributes::sharding);
    auto global =
        function.getResultAttrOfType<TypeAttr>(index, attributes::globalType);
    if (!sharding || !global)
      return function.emitOpError("result ")
             << index << " has no "
             << (sharding ? attributes::globalType : attributes::sharding);
    auto type = cast<RankedTensorType>(global.getValue());
    auto bucket =
        function.getResultAttrOfType<ArrayAttr>(index, attributes::bucket);
    std::optional<std::string> fault =
        bucket ? unshardBucket(
                     blocks,
                     SmallVector<MemberAttr>(bucket.getAsRange<MemberAttr>()),
                     type, *sharding.resolve(mesh), mesh, values)
               : unshard(blocks, type, *sharding.resolve(mesh), mesh,
                         values.emplace_back());
    if (fault)
      return function.emitOpError("result ") << index << ": " << *fault;
  }
  return values;
}

} // namespace parplan
