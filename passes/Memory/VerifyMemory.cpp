//===- VerifyMemory.cpp - Closes the memory phase -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Sharding/ServerPositions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_VERIFYMEMORY
#include "passes/Memory/Passes.h.inc"
#include "passes/Memory/Transfers.h"

namespace {

/// Where a value is in the program of a rank. Other ops than these make their
/// results on the device, whatever `parplan.tier` they had.
StringRef getTierOfValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto transfer = dyn_cast_if_present<TransferOp>(op))
    return transfer.getTier();
  if (isa_and_present<ParameterOp, BucketParameterOp>(op))
    return getTier(op);
  if (isa_and_present<OptimizerUpdateOp>(op) && getTier(op) != tiers::device)
    return tiers::host;
  return tiers::device;
}

/// The variable, or the members of the bucket, that a result of a function
/// replaces.
Attribute getReplaced(func::FuncOp function, unsigned result) {
  if (Attribute variable = function.getResultAttr(result, attributes::variable))
    return variable;
  return function.getResultAttr(result, attributes::bucket);
}

class MemoryVerifier {
public:
  explicit MemoryVerifier(ModuleOp module) : module(module) {}

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isDeclaration())
        verifyTiers(function);
    if (MeshOp mesh = getOnlyMesh(module); mesh && getServerAxis(mesh))
      verifyServers(mesh);
    return success(isValid);
  }

private:
  InFlightDiagnostic fail(Operation *op) {
    isValid = false;
    return op->emitError("after memory: ");
  }

  //===--------------------------------------------------------------------===//
  // Tiers
  //===--------------------------------------------------------------------===//

  /// P19.
  void verifyTiers(func::FuncOp function) {
    llvm::DenseMap<Attribute, StringRef> rests;
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (auto parameter = dyn_cast<ParameterOp>(op))
        rests[parameter.getVariable()] = getTier(&op);
      else if (auto bucket = dyn_cast<BucketParameterOp>(op))
        rests[bucket.getMembersAttr()] = getTier(&op);
      if (auto transfer = dyn_cast<TransferOp>(op)) {
        if (getTierOfValue(transfer.getInput()) == transfer.getTier())
          fail(&op) << "P19: brings a value to where it is";
        continue;
      }
      verifyOperands(&op);
    }
    Operation *end = function.getBody().front().getTerminator();
    for (OpOperand &result : end->getOpOperands()) {
      unsigned number = result.getOperandNumber();
      auto rest = rests.find(getReplaced(function, number));
      StringRef wanted =
          rest == rests.end() ? StringRef(tiers::device) : rest->second;
      if (StringRef tier = getTierOfValue(result.get()); tier != wanted)
        fail(end) << "P19: result " << number << " is returned from the "
                  << tier << " and rests on the " << wanted;
    }
  }

  /// An update off the device reads its tensors on the host; the numbers that
  /// come with them, and all others read on the device.
  void verifyOperands(Operation *op) {
    size_t onHost = 0;
    if (auto update = dyn_cast<OptimizerUpdateOp>(op);
        update && getTier(op) != tiers::device)
      onHost = 2 + update.getStates().size();
    for (OpOperand &operand : op->getOpOperands()) {
      StringRef wanted = operand.getOperandNumber() < onHost
                             ? StringRef(tiers::host)
                             : StringRef(tiers::device);
      if (StringRef tier = getTierOfValue(operand.get()); tier != wanted)
        fail(op) << "P19: operand " << operand.getOperandNumber()
                 << " is on the " << tier << " and is read on the " << wanted;
    }
  }

  //===--------------------------------------------------------------------===//
  // Servers
  //===--------------------------------------------------------------------===//

  /// P20.
  void verifyServers(MeshOp meshOp) {
    const Mesh &mesh = meshOp.getMesh().getMesh();
    StringRef serverAxis = getServerAxis(meshOp).getName();
    std::array<func::FuncOp, 2> programs;
    for (auto function : module.getOps<func::FuncOp>()) {
      auto position =
          function->getAttrOfType<IntegerAttr>(attributes::position);
      if (position && position.getInt() < 2)
        programs[position.getInt()] = function;
    }
    func::FuncOp workers = programs[workerPosition],
                 servers = programs[serverPosition];
    if (!workers || !servers) {
      fail(meshOp) << "P20: workers and servers have a program each";
      return;
    }
    verifyWorkers(workers);
    for (func::FuncOp function : programs)
      verifyCollectives(function, function == servers, serverAxis);
    for (int64_t server = 0; server < mesh.getServerCount(); ++server)
      for (int64_t worker : getPeers(servers, mesh)) {
        int64_t rank = mesh.getWorkerCount() + server;
        verifyMessages<SendOp, ReceiveOp>(workers, rank, servers, worker);
        verifyMessages<ReceiveOp, SendOp>(workers, rank, servers, worker);
      }
  }

  /// By whom servers know the workers.
  static SmallVector<int64_t> getPeers(func::FuncOp servers, const Mesh &mesh) {
    if (servers->hasAttr(attributes::staleness))
      return {servedWorker};
    return llvm::to_vector(llvm::seq<int64_t>(0, mesh.getWorkerCount()));
  }

  void verifyWorkers(func::FuncOp workers) {
    for (Operation &op : workers.getBody().front()) {
      if (isa<OptimizerUpdateOp>(op))
        fail(&op) << "P20: a worker updates what servers keep";
      if (isState(&op))
        fail(&op) << "P20: a worker has a state of the optimizer";
    }
    Operation *end = workers.getBody().front().getTerminator();
    for (OpOperand &result : end->getOpOperands()) {
      unsigned number = result.getOperandNumber();
      if (getReplaced(workers, number) && !isReceived(result.get()))
        fail(end) << "P20: result " << number
                  << " replaces a variable and comes from no server";
    }
  }

  static bool isState(Operation *op) {
    if (auto parameter = dyn_cast<ParameterOp>(op))
      return bool(parameter.getVariable().getSlot());
    auto bucket = dyn_cast<BucketParameterOp>(op);
    return bucket && llvm::any_of(bucket.getMembers(), [](Attribute member) {
             return bool(cast<MemberAttr>(member).getVariable().getSlot());
           });
  }

  static bool isReceived(Value value) {
    if (auto pack = value.getDefiningOp<PackOp>())
      return llvm::all_of(pack.getInputs(), isReceived);
    return bool(value.getDefiningOp<ReceiveOp>());
  }

  void verifyCollectives(func::FuncOp function, bool areServers,
                         StringRef serverAxis) {
    for (Operation &op : function.getBody().front())
      if (auto collective = dyn_cast<CollectiveOpInterface>(op))
        for (StringAttr axis : collective.getCollectiveAxes().getNames())
          if ((axis.getValue() == serverAxis) != areServers)
            fail(&op) << "P20: " << (areServers ? "a server" : "a worker")
                      << " is not on the axis " << axis;
  }

  template <typename Message>
  static SmallVector<Message> getMessages(func::FuncOp function, int64_t peer) {
    SmallVector<Message> messages;
    for (auto message : function.getOps<Message>())
      if (static_cast<int64_t>(message.getPeer()) == peer)
        messages.push_back(message);
    return messages;
  }

  /// What workers do with the server of `rank` is the other side of what that
  /// does with `worker`.
  template <typename Own, typename Other>
  void verifyMessages(func::FuncOp workers, int64_t rank, func::FuncOp servers,
                      int64_t worker) {
    SmallVector<Own> own = getMessages<Own>(workers, rank);
    SmallVector<Other> other = getMessages<Other>(servers, worker);
    if (own.size() != other.size()) {
      fail(servers) << "P20: " << other.size() << " messages "
                    << (std::is_same_v<Other, SendOp> ? "to" : "from")
                    << " the worker " << worker << ", which has " << own.size();
      return;
    }
    for (auto [mine, theirs] : llvm::zip_equal(own, other)) {
      Value value = cast<PointToPointOpInterface>(*mine).getMessage();
      if (value.getType() ==
          cast<PointToPointOpInterface>(*theirs).getMessage().getType())
        continue;
      InFlightDiagnostic diagnostic = fail(theirs);
      diagnostic << "P20: message of another type than on the other side";
      diagnostic.attachNote(mine->getLoc()) << "the other side";
      return;
    }
  }

  ModuleOp module;
  bool isValid = true;
};

struct VerifyMemoryPass : impl::VerifyMemoryBase<VerifyMemoryPass> {
  void runOnOperation() override {
    if (failed(MemoryVerifier(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace

} // namespace parplan
