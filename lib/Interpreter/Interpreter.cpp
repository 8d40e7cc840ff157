//===- Interpreter.cpp - Runs a function on one or N ranks ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Interpreter/Interpreter.h"

#include "lib/Interpreter/Machine.h"
#include "parplan/Sharding/ServerPositions.h"

#include <deque>
#include <map>

using namespace mlir;

namespace parplan {

Tensor Evaluation::makeResult(unsigned index) const {
  return Tensor(cast<RankedTensorType>(op->getResult(index).getType()));
}

FailureOr<Values> evaluateOp(Operation *op, ArrayRef<const Tensor *> operands) {
  Evaluation evaluation{op, operands};
  for (auto *evaluate :
       {evaluateElementwise, evaluateCast, evaluateShape, evaluateIndexing,
        evaluateReduction, evaluateNorm, evaluateProduct, evaluateWindow,
        evaluateAttention, evaluateTraining, evaluateBucket, evaluateExperts}) {
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

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// What all ranks hold of the arguments.
static FailureOr<std::vector<Values>> cutArguments(func::FuncOp function,
                                                   ArrayRef<Tensor> arguments,
                                                   const Mesh &mesh) {
  std::vector<Values> inputs;
  for (auto [argument, value] :
       llvm::zip_equal(function.getArguments(), arguments)) {
    ShardingAttr sharding = getSharding(argument);
    if (!sharding)
      return function.emitOpError("argument ")
             << argument.getArgNumber() << " has no " << attributes::sharding;
    inputs.push_back(shard(value, *sharding.resolve(mesh), mesh));
  }
  return inputs;
}

static FailureOr<std::vector<Tensor>>
joinResults(func::FuncOp function, ArrayRef<Values> results, const Mesh &mesh) {
  std::vector<Tensor> values;
  for (auto [index, blocks] : llvm::enumerate(results)) {
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

FailureOr<std::vector<Tensor>>
interpretRanks(func::FuncOp function, ArrayRef<Tensor> arguments,
               const InitializerValues &initializers, RankObserver observer) {
  MeshOp meshOp = getOnlyMesh(function->getParentOp());
  if (!meshOp)
    return function.emitOpError("needs a module with exactly one mesh");
  const Mesh &mesh = meshOp.getMesh().getMesh();
  FailureOr<std::vector<Values>> inputs =
      cutArguments(function, arguments, mesh);
  if (failed(inputs))
    return failure();
  FailureOr<std::vector<Values>> results =
      Machine(initializers, &mesh, observer).run(function, std::move(*inputs));
  if (failed(results))
    return failure();
  return joinResults(function, *results, mesh);
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

namespace {

/// Runs the programs of all positions in turn, each as far as it gets.
class PositionRunner {
public:
  PositionRunner(ArrayRef<func::FuncOp> functions, const Mesh &mesh, int axis,
                 const InitializerValues &initializers, RankObserver observer)
      : mesh(mesh), axis(axis),
        machines(functions.size(), Machine(initializers, &mesh, observer)) {}

  Machine &getMachine(size_t position) { return machines[position]; }

  LogicalResult run() {
    bool moves = true;
    while (moves) {
      moves = false;
      for (size_t position = 0; position < machines.size(); ++position) {
        if (failed(machines[position].advance()))
          return failure();
        FailureOr<bool> moved = communicate(position);
        if (failed(moved))
          return failure();
        moves |= *moved;
      }
    }
    for (Machine &machine : machines)
      if (!machine.isAtEnd())
        return machine.getNext()->emitOpError("waits for ever");
    return success();
  }

private:
  /// Takes the step at which a position stands, if others let it.
  FailureOr<bool> communicate(size_t position) {
    Machine &machine = machines[position];
    Operation *op = machine.getNext();
    if (machine.isAtEnd())
      return false;
    auto point = dyn_cast<PointToPointOpInterface>(op);
    if (!point)
      return reduce(op);
    auto peer = static_cast<int64_t>(point.getPeer());
    if (peer < 0)
      return op->emitOpError("is of whoever pushes: no order is the program's");
    if (isa<ReceiveOp>(op)) {
      std::optional<Values> values = receive(position, peer);
      if (!values)
        return false;
      if (values->front().getType() != point.getMessage().getType())
        return op->emitOpError("receives ") << values->front().getType();
      if (failed(machine.define(op->getResult(0), std::move(*values))))
        return failure();
    } else {
      send(position, peer, machine.get(point.getMessage()));
    }
    machine.skip();
    return true;
  }

  /// Whose messages those of a program are: the position's, or, of workers and
  /// servers, those of each rank that runs it.
  SmallVector<int64_t> getMembers(int64_t position) const {
    if (mesh.getServerCount() == 0)
      return {position};
    SmallVector<int64_t> members;
    for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
      if (getServersPosition(mesh, rank) == position)
        members.push_back(rank);
    return members;
  }

  void send(int64_t position, int64_t peer, const Values &values) {
    for (int64_t member : getMembers(position))
      channels[{member, peer}].push_back(
          mesh.getServerCount() > 0 ? Values{values[member]} : values);
  }

  /// What all ranks hold of the next messages; null while some are missing.
  std::optional<Values> receive(int64_t position, int64_t peer) {
    SmallVector<int64_t> members = getMembers(position);
    for (int64_t member : members)
      if (channels[{peer, member}].empty())
        return std::nullopt;
    Values values;
    for (int64_t member : members) {
      std::deque<Values> &channel = channels[{peer, member}];
      Values message = std::move(channel.front());
      channel.pop_front();
      if (mesh.getServerCount() == 0)
        return message;
      values.resize(mesh.getRankCount(), message.front());
      values[member] = std::move(message.front());
    }
    return values;
  }

  /// A collective over the positions, once all stand at it.
  FailureOr<bool> reduce(Operation *op) {
    for (Machine &machine : machines) {
      if (failed(machine.advance()))
        return failure();
      if (machine.getNext()->getName() != op->getName())
        return false;
    }
    Values blocks;
    for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
      Machine &machine = machines[mesh.getIndex(rank, {axis})];
      blocks.push_back(machine.get(machine.getNext()->getOperand(0))[rank]);
    }
    FailureOr<Values> after = evaluateMove(op, mesh, blocks);
    if (failed(after))
      return failure();
    for (Machine &machine : machines) {
      if (failed(machine.define(machine.getNext()->getResult(0), *after)))
        return failure();
      machine.skip();
    }
    return true;
  }

  const Mesh &mesh;
  int axis;
  std::vector<Machine> machines;
  /// By sender and receiver.
  std::map<std::pair<int64_t, int64_t>, std::deque<Values>> channels;
};

} // namespace

FailureOr<std::vector<std::vector<Tensor>>> interpretPositions(
    ArrayRef<func::FuncOp> functions, ArrayRef<std::vector<Tensor>> arguments,
    const InitializerValues &initializers, RankObserver observer) {
  MeshOp meshOp = getOnlyMesh(functions.front()->getParentOp());
  MeshAxisAttr servers = meshOp ? getServerAxis(meshOp) : MeshAxisAttr();
  MeshAxisAttr axis = servers  ? servers
                      : meshOp ? getPipelineAxis(meshOp)
                               : MeshAxisAttr();
  int64_t positions = servers ? 2 : axis ? axis.getSize() : 0;
  if (positions != static_cast<int64_t>(functions.size()))
    return functions.front()->emitOpError("is one of ")
           << functions.size() << " positions, which the mesh lacks";
  const Mesh &mesh = meshOp.getMesh().getMesh();
  PositionRunner runner(functions, mesh, *mesh.findAxis(axis.getName()),
                        initializers, observer);
  for (auto [position, function] : llvm::enumerate(functions)) {
    FailureOr<std::vector<Values>> inputs =
        cutArguments(function, arguments[position], mesh);
    if (failed(inputs))
      return failure();
    runner.getMachine(position).start(function, std::move(*inputs));
  }
  if (failed(runner.run()))
    return failure();
  std::vector<std::vector<Tensor>> values;
  for (auto [position, function] : llvm::enumerate(functions)) {
    FailureOr<std::vector<Tensor>> own =
        joinResults(function, runner.getMachine(position).getResults(), mesh);
    if (failed(own))
      return failure();
    values.push_back(std::move(*own));
  }
  return values;
}

} // namespace parplan
