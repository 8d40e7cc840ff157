//===- SplitServers.cpp - Who keeps the variables -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"
#include "passes/Memory/ServedOps.h"
#include "passes/Partition/Layouts.h"

#include "dialects/parplan/ParplanOps.h"
#include "dialects/parplan/TensorTypes.h"
#include "parplan/Sharding/ServerPositions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_SPLITSERVERS
#include "passes/Memory/Passes.h.inc"

namespace {

/// How a value lies on the servers, or the workers.
enum class Layout {
  whole,
  /// Of a bucket.
  piece,
  /// A sum over the pieces of one server.
  pending
};

/// Splits the step of workers.
class ServerSplitter {
public:
  ServerSplitter(func::FuncOp main, MeshOp meshOp)
      : main(main), mesh(meshOp.getMesh().getMesh()),
        meshName(FlatSymbolRefAttr::get(meshOp.getSymNameAttr())),
        isAsync(main->hasAttr(attributes::staleness)),
        workers(main.getContext()), servers(main.getContext()), served(main) {
    Builder builder(main.getContext());
    SmallVector<StringAttr> names;
    for (const MeshAxis &axis : mesh.getAxes())
      names.push_back(builder.getStringAttr(axis.name));
    everyone = AxisListAttr::get(main.getContext(), names);
    serverAxis = AxisListAttr::get(main.getContext(), names.back());
    if (isAsync)
      peers = {servedWorker};
    else
      llvm::append_range(peers, llvm::seq<int64_t>(0, mesh.getWorkerCount()));
  }

  LogicalResult run() {
    if (failed(served.verify()))
      return failure();
    createServer();
    workers.setInsertionPointToStart(&main.getBody().front());
    for (BlockArgument argument : main.getArguments())
      if (served.isPushed(argument))
        push(argument);
    // Sends are inserted on the way.
    for (Operation *op : getOps())
      if (served.contains(op)) {
        if (failed(moveToServer(op)))
          return failure();
      } else {
        for (Value result : op->getResults())
          if (served.isPushed(result))
            push(result);
      }
    if (failed(splitResults()))
      return failure();
    cleanUp();
    if (isAsync)
      spreadSamples();
    return success();
  }

private:
  /// Those of the workers but the terminator.
  SmallVector<Operation *> getOps() {
    SmallVector<Operation *> ops;
    for (Operation &op : main.getBody().front().without_terminator())
      ops.push_back(&op);
    return ops;
  }

  //===--------------------------------------------------------------------===//
  // Pieces
  //===--------------------------------------------------------------------===//

  /// What a server has of a value: a piece of a bucket, all of a number.
  RankedTensorType getPieceType(RankedTensorType type) const {
    if (type.getRank() == 0)
      return type;
    return type.clone({type.getNumElements() / mesh.getServerCount()});
  }

  ShardingAttr getSharding(RankedTensorType type, Layout layout) const {
    Sharding sharding;
    sharding.dims.resize(type.getRank());
    int axis = mesh.getAxisCount() - 1;
    if (layout == Layout::pending)
      sharding.partial = {axis};
    else if (layout == Layout::piece && type.getRank() > 0)
      sharding.storage = {axis};
    return ShardingAttr::get(meshName, mesh, sharding);
  }

  /// Says of the result of `op`, a `type` as a whole, how it lies.
  void annotate(Operation *op, RankedTensorType type, Layout layout) {
    Builder builder(op->getContext());
    ShardingAttr sharding = getSharding(type, layout);
    op->setAttr(attributes::shardings,
                builder.getArrayAttr(
                    SmallVector<Attribute>(op->getNumResults(), sharding)));
    op->setAttr(attributes::globalType, TypeAttr::get(type));
    op->setAttr(attributes::role, builder.getStringAttr(roles::optimizer));
  }

  SmallVector<int64_t> getOffsets(RankedTensorType type) const {
    SmallVector<int64_t> offsets;
    for (int64_t server = 0; server < mesh.getServerCount(); ++server)
      offsets.push_back(server * getPieceType(type).getNumElements());
    return offsets;
  }

  //===--------------------------------------------------------------------===//
  // Messages
  //===--------------------------------------------------------------------===//

  Value receive(OpBuilder &builder, mlir::Location location,
                RankedTensorType whole, Layout layout, int64_t peer) {
    auto op = builder.create<ReceiveOp>(location, getPieceType(whole), peer,
                                        everyone);
    annotate(op, whole, layout);
    return op.getResult();
  }

  /// Each server its piece of `value`, of every worker.
  void push(Value value) {
    RankedTensorType type = getTensorType(value);
    if (value.getDefiningOp())
      workers.setInsertionPointAfterValue(value);
    SmallVector<Value> pieces(mesh.getServerCount(), value);
    if (type.getRank() > 0 && pieces.size() > 1) {
      auto parts = workers.create<UnpackOp>(
          value.getLoc(), SmallVector<Type>(pieces.size(), getPieceType(type)),
          value, getOffsets(type));
      annotate(parts, getPieceType(type), Layout::whole);
      if (Operation *maker = value.getDefiningOp())
        copyOrigin(maker, parts);
      llvm::copy(parts.getOutputs(), pieces.begin());
    }
    for (auto [server, piece] : llvm::enumerate(pieces))
      workers.create<SendOp>(value.getLoc(), piece,
                             mesh.getWorkerCount() + server, everyone);
    for (int64_t worker : peers)
      received[value].push_back(
          receive(servers, value.getLoc(), type, Layout::piece, worker));
  }

  /// The new values of a parameter, `update` on the servers.
  Value pull(Value value, Value update) {
    RankedTensorType type = getTensorType(value);
    mlir::Location location = value.getLoc();
    for (int64_t worker : peers)
      servers.create<SendOp>(location, update, worker, everyone);
    SmallVector<Value> pieces;
    for (int64_t server = 0; server < mesh.getServerCount(); ++server)
      pieces.push_back(receive(workers, location, type, Layout::whole,
                               mesh.getWorkerCount() + server));
    if (pieces.size() == 1)
      return pieces.front();
    auto bucket =
        workers.create<PackOp>(location, type, pieces, getOffsets(type));
    annotate(bucket, type, Layout::whole);
    return bucket;
  }

  //===--------------------------------------------------------------------===//
  // The program of the servers
  //===--------------------------------------------------------------------===//

  void createServer() {
    OpBuilder builder(main.getContext());
    builder.setInsertionPointAfter(main);
    server = builder.create<func::FuncOp>(main.getLoc(), "server",
                                          builder.getFunctionType({}, {}));
    servers.setInsertionPointToStart(server.addEntryBlock());
    for (StringRef name : {attributes::microBatches, attributes::staleness})
      if (Attribute value = main->getAttr(name))
        server->setAttr(name, value);
    main->setAttr(attributes::position,
                  builder.getI64IntegerAttr(workerPosition));
    server->setAttr(attributes::position,
                    builder.getI64IntegerAttr(serverPosition));
  }

  /// The value on the servers.
  Value get(Value value) {
    if (Value known = values.lookupOrNull(value))
      return known;
    if (auto found = received.find(value); found != received.end())
      return found->second.front();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned index = server.getNumArguments();
      server.insertArgument(index, value.getType(),
                            main.getArgAttrDict(argument.getArgNumber()),
                            main.getLoc());
      values.map(value, server.getArgument(index));
    } else {
      clone(value.getDefiningOp());
    }
    return values.lookup(value);
  }

  void clone(Operation *op) {
    for (Value operand : op->getOperands())
      values.map(operand, get(operand));
    Operation *copy = servers.clone(*op, values);
    for (auto [result, own] :
         llvm::zip_equal(op->getResults(), copy->getResults())) {
      RankedTensorType type = getTensorType(result);
      own.setType(getPieceType(type));
      if (partial.contains(result))
        annotate(copy, type, Layout::pending);
      else if (type.getRank() > 0)
        annotate(copy, type, Layout::piece);
    }
  }

  LogicalResult moveToServer(Operation *op) {
    if (isa<UnpackOp>(op))
      return op->emitOpError("reads the new value of a variable before the "
                             "next step, and servers have it");
    if (auto sum = dyn_cast<AllReduceOp>(op);
        sum && received.count(sum.getInput()))
      return addUp(sum);
    if (isa<CollectiveOpInterface>(op))
      return op->emitOpError("goes over workers, behind what servers take");
    // Sums over pieces are added up over the servers for the first that reads
    // more than terms.
    bool isTerm = isa<SquareSumOp>(op) && mesh.getServerCount() > 1;
    auto isPartial = [&](Value operand) { return partial.contains(operand); };
    bool areTerms =
        isa<SumOp>(op) && llvm::all_of(op->getOperands(), isPartial);
    if (isTerm || areTerms)
      partial.insert(op->getResult(0));
    else
      for (Value operand : op->getOperands())
        if (isPartial(operand))
          complete(operand);
    clone(op);
    return success();
  }

  /// In the order of the workers, as all-reduce does it.
  LogicalResult addUp(AllReduceOp op) {
    FailureOr<AxisList> axes = op.getAxes().resolve(mesh);
    if (failed(axes) || op.getKind() != ReduceKind::sum)
      return op.emitOpError("is no sum over workers");
    ArrayRef<Value> terms = received[op.getInput()];
    RankedTensorType type = getTensorType(op.getResult());
    Value total;
    for (int64_t worker : mesh.getGroup(/*rank=*/0, *axes)) {
      if (!total) {
        total = terms[worker];
        continue;
      }
      auto sum = servers.create<AddOp>(op.getLoc(), total, terms[worker]);
      annotate(sum, type, Layout::piece);
      copyOrigin(op, sum);
      total = sum;
    }
    values.map(op.getResult(), total);
    return success();
  }

  /// Makes the sum over the pieces of one server that of all.
  void complete(Value value) {
    partial.erase(value);
    RankedTensorType type = getTensorType(value);
    auto total = servers.create<AllReduceOp>(
        value.getLoc(), type, values.lookup(value), serverAxis, ReduceKind::sum,
        getSharding(type, Layout::whole));
    total->setAttr(attributes::globalType, TypeAttr::get(type));
    total->setAttr(attributes::role, servers.getStringAttr(roles::optimizer));
    values.map(value, total.getResult());
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  static bool isState(Attribute bucket) {
    auto members = cast<ArrayAttr>(bucket);
    return cast<MemberAttr>(members[0]).getVariable().getSlot() != StringAttr();
  }

  LogicalResult splitResults() {
    Operation *end = main.getBody().front().getTerminator();
    workers.setInsertionPoint(end);
    struct Results {
      SmallVector<Value> values;
      SmallVector<DictionaryAttr> attributes;
    };
    Results own, theirs;
    for (auto [index, value] : llvm::enumerate(end->getOperands())) {
      DictionaryAttr dictionary = main.getResultAttrDict(index);
      if (!served.contains(value)) {
        own.values.push_back(value);
        own.attributes.push_back(dictionary);
        continue;
      }
      RankedTensorType type = getTensorType(value);
      Attribute bucket = dictionary.get(attributes::bucket);
      if (dictionary.get(attributes::variable) ||
          (type.getRank() > 0 && !bucket))
        return main.emitError("result ") << index << " is in no bucket";
      auto sharding = cast<ShardingAttr>(dictionary.get(attributes::sharding));
      if (bucket && sharding != getSharding(type, Layout::whole))
        return main.emitError("result ")
               << index << " is split among workers, which have it whole";
      if (partial.contains(value))
        complete(value);
      Value update = get(value);
      NamedAttrList named(dictionary);
      named.set(attributes::sharding, getSharding(type, Layout::piece));
      theirs.values.push_back(update);
      theirs.attributes.push_back(named.getDictionary(main.getContext()));
      if (bucket && !isState(bucket)) {
        own.values.push_back(pull(value, update));
        own.attributes.push_back(dictionary);
      }
    }
    servers.create<func::ReturnOp>(main.getLoc(), theirs.values);
    end->setOperands(own.values);
    setResults(main, own.values, own.attributes);
    setResults(server, theirs.values, theirs.attributes);
    return success();
  }

  static void setResults(func::FuncOp function, ValueRange values,
                         ArrayRef<DictionaryAttr> attributes) {
    function.setFunctionType(FunctionType::get(
        function.getContext(), function.getArgumentTypes(), TypeRange(values)));
    function.setAllResultAttrs(attributes);
  }

  //===--------------------------------------------------------------------===//
  // What is left of the workers
  //===--------------------------------------------------------------------===//

  void cleanUp() {
    served.erase();
    SmallVector<Operation *> left = getOps();
    for (Operation *op : llvm::reverse(left))
      if (isOpTriviallyDead(op))
        op->erase();
    for (unsigned index = main.getNumArguments(); index-- > 0;)
      if (main.getArgAttr(index, attributes::schedule) &&
          main.getArgument(index).use_empty())
        main.eraseArgument(index);
  }

  /// The step is that of one worker, for its samples: together they have those
  /// of all.
  void spreadSamples() {
    constexpr int64_t dimension = 1;
    for (BlockArgument argument : main.getArguments()) {
      unsigned index = argument.getArgNumber();
      if (!main.getArgAttr(index, attributes::batch))
        continue;
      RankedTensorType type = getTensorType(argument);
      SmallVector<int64_t> shape(type.getShape());
      shape[dimension] *= mesh.getWorkerCount();
      Sharding sharding;
      sharding.dims.resize(type.getRank());
      llvm::append_range(sharding.dims[dimension],
                         llvm::seq<int>(0, mesh.getAxisCount() - 1));
      main.setArgAttr(index, attributes::globalType,
                      TypeAttr::get(type.clone(shape)));
      main.setArgAttr(index, attributes::sharding,
                      ShardingAttr::get(meshName, mesh, sharding));
    }
  }

  func::FuncOp main, server;
  Mesh mesh;
  FlatSymbolRefAttr meshName;
  AxisListAttr everyone, serverAxis;
  bool isAsync;
  /// The workers with which a server speaks, by their ranks.
  SmallVector<int64_t> peers;
  OpBuilder workers, servers;
  ServedOps served;
  /// Per pushed value what came of each of `peers`.
  llvm::DenseMap<Value, SmallVector<Value>> received;
  /// From values of the workers to those of the servers.
  IRMapping values;
  /// Values of the workers that are sums over the pieces of one server there.
  llvm::DenseSet<Value> partial;
};

struct SplitServersPass : impl::SplitServersBase<SplitServersPass> {
  void runOnOperation() override {
    MeshOp mesh = getOnlyMesh(getOperation());
    if (!mesh || !getServerAxis(mesh))
      return;
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main) {
      getOperation().emitError("there is no function @main");
      return signalPassFailure();
    }
    if (failed(ServerSplitter(main, mesh).run()))
      signalPassFailure();
  }
};

} // namespace

} // namespace parplan
