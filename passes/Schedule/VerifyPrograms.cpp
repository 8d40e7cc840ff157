//===- VerifyPrograms.cpp - Programs of a pipeline fit together -----------===//
//
// Part of parplan. E21 to E23 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ExtractProgram.h"
#include "passes/Schedule/Passes.h"

#include "parplan/Simulator/Simulator.h"

#include "mlir/IR/Threading.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_VERIFYPROGRAMS
#include "passes/Schedule/Passes.h.inc"

namespace {

using exec::ProgramOp;

exec::CommunicatorOp getCommunicator(Operation *op) {
  return SymbolTable::lookupNearestSymbolFrom<exec::CommunicatorOp>(
      op, op->getAttrOfType<FlatSymbolRefAttr>("communicator"));
}

/// E21.
LogicalResult verifyPositions(ModuleOp module, ArrayRef<ProgramOp> programs) {
  if (programs.empty())
    return module.emitError("has no exec.program (E21)");
  ProgramOp first = programs.front();
  if (programs.size() == 1 && !first.getPosition())
    return success();
  int64_t positions = first.getPositionCount();
  if (positions == 1)
    return first.emitOpError("has a position or a neighbour, but neither a "
                             "pipeline axis nor servers (E21)");
  for (auto [expected, each] : llvm::enumerate(programs)) {
    ProgramOp program = each;
    if (program.getMesh() != first.getMesh()) {
      InFlightDiagnostic diagnostic =
          program.emitOpError("has another mesh (E21)");
      diagnostic.attachNote(first.getLoc()) << "the first program";
      return diagnostic;
    }
    if (program.getPosition() != static_cast<uint64_t>(expected))
      return program.emitOpError("is not at position ")
             << expected << ", or there are two (E21)";
  }
  if (static_cast<int64_t>(programs.size()) != positions)
    return module.emitError("has ") << programs.size() << " programs for "
                                    << positions << " positions (E21)";
  return success();
}

/// What programs call, each in its order.
using Calls = SmallVector<Operation *>;

std::vector<Calls> findCalls(ArrayRef<ProgramOp> programs) {
  std::vector<Calls> found(programs.size());
  MLIRContext *context = ProgramOp(programs.front()).getContext();
  parallelFor(context, 0, programs.size(), [&](size_t number) {
    for (Operation &op : ProgramOp(programs[number]).getBody().front())
      if (isa<exec::SendOp, exec::ReceiveOp, exec::CollectiveOp>(op))
        found[number].push_back(&op);
  });
  return found;
}

/// E22 of messages: from each position to each other, over each group of axes.
/// Of workers and servers from each rank to each other.
class MessageCheck {
public:
  LogicalResult run(ArrayRef<ProgramOp> programs, ArrayRef<Calls> callsOf) {
    for (auto [program, calls] : llvm::zip_equal(programs, callsOf))
      for (int64_t own : getMembers(program))
        addMessages(program, calls, own);
    for (auto &[key, channel] : channels)
      if (failed(verify(channel)))
        return failure();
    return success();
  }

private:
  struct Channel {
    SmallVector<exec::SendOp> sends;
    SmallVector<exec::ReceiveOp> receives;
  };

  /// What runs the program, in the numbers of peers.
  static SmallVector<int64_t> getMembers(ProgramOp program) {
    const Mesh &mesh = program.getMesh().getMesh();
    auto position = static_cast<int64_t>(program.getPosition().value_or(0));
    if (mesh.getServerCount() == 0)
      return {position};
    SmallVector<int64_t> members;
    for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
      if (program.getPositionOf(rank) == position)
        members.push_back(rank);
    return members;
  }

  void addMessages(ProgramOp program, const Calls &calls, int64_t own) {
    for (Operation *op : calls) {
      if (auto send = dyn_cast<exec::SendOp>(op))
        for (int64_t peer : getPeers(program, send.getPeer()))
          getChannel(send, own, peer).sends.push_back(send);
      else if (auto receive = dyn_cast<exec::ReceiveOp>(op))
        for (int64_t peer : getPeers(program, receive.getPeer()))
          getChannel(receive, peer, own).receives.push_back(receive);
    }
  }

  /// -1 is every worker, one after the other.
  static SmallVector<int64_t> getPeers(ProgramOp program, int64_t peer) {
    if (peer >= 0)
      return {peer};
    return llvm::to_vector(
        llvm::seq<int64_t>(0, program.getMesh().getMesh().getWorkerCount()));
  }

  Channel &getChannel(Operation *op, int64_t from, int64_t to) {
    return channels[{getCommunicator(op).getAxes(), {from, to}}];
  }

  static LogicalResult verify(Channel &channel) {
    size_t common = std::min(channel.sends.size(), channel.receives.size());
    for (size_t i = 0; i < common; ++i) {
      exec::BufferType sent = exec::getBufferType(channel.sends[i].getBuffer());
      exec::BufferType expected =
          exec::getBufferType(channel.receives[i].getBuffer());
      if (sent.getElementType() == expected.getElementType() &&
          sent.getElementCount() == expected.getElementCount())
        continue;
      InFlightDiagnostic diagnostic =
          channel.receives[i].emitOpError("expects ")
          << expected << ", and gets " << sent << " (E22)";
      diagnostic.attachNote(channel.sends[i].getLoc()) << "sent here";
      return diagnostic;
    }
    if (common < channel.sends.size())
      return channel.sends[common].emitOpError("is never received (E22)");
    if (common < channel.receives.size())
      return channel.receives[common].emitOpError("waits for what is never "
                                                  "sent (E22)");
    return success();
  }

  llvm::MapVector<std::pair<Attribute, std::pair<int64_t, int64_t>>, Channel>
      channels;
};

/// E22 of collectives that join positions: all of them call the same.
class CallCheck {
public:
  LogicalResult run(ArrayRef<ProgramOp> programs, ArrayRef<Calls> callsOf) {
    ProgramOp first = programs.front();
    std::optional<int> axis = first.getPipelineAxis();
    for (size_t number = 0; number < programs.size(); ++number) {
      ProgramOp program = programs[number];
      CallsByAxes calls;
      for (Operation *op : callsOf[number]) {
        auto call = dyn_cast<exec::CollectiveOp>(op);
        if (!call)
          continue;
        AxisListAttr axes = getCommunicator(call).getAxes();
        FailureOr<AxisList> positions =
            axes.resolve(program.getMesh().getMesh());
        if (axis && succeeded(positions) &&
            llvm::is_contained(*positions, *axis))
          calls[axes].push_back(call);
      }
      if (program == first)
        expected = std::move(calls);
      else if (failed(compare(program, calls)))
        return failure();
    }
    return success();
  }

private:
  using CallsByAxes =
      llvm::MapVector<Attribute, SmallVector<exec::CollectiveOp>>;

  LogicalResult compare(ProgramOp program, const CallsByAxes &calls) {
    for (auto &[axes, own] : calls)
      if (own.size() != expected.lookup(axes).size())
        return program.emitOpError("joins the positions over ")
               << axes << " " << own.size() << " times, the first "
               << expected.lookup(axes).size() << " times (E22)";
    for (auto &[axes, others] : expected) {
      SmallVector<exec::CollectiveOp> own = calls.lookup(axes);
      if (own.size() != others.size())
        return program.emitOpError("joins the positions over ")
               << axes << " " << own.size() << " times, the first "
               << others.size() << " times (E22)";
      for (auto [mine, other] : llvm::zip_equal(own, others)) {
        exec::BufferType type = exec::getBufferType(mine.getInput());
        if (mine.getForm() == other.getForm() &&
            mine.getKind() == other.getKind() &&
            mine.getRoot() == other.getRoot() &&
            mine.getCount() == other.getCount() &&
            type.getElementType() ==
                exec::getBufferType(other.getInput()).getElementType())
          continue;
        InFlightDiagnostic diagnostic =
            mine.emitOpError("differs from that of the first position (E22)");
        diagnostic.attachNote(other.getLoc()) << "the other call";
        return diagnostic;
      }
    }
    return success();
  }

  CallsByAxes expected;
};

struct VerifyProgramsPass : impl::VerifyProgramsBase<VerifyProgramsPass> {
  explicit VerifyProgramsPass(Program *extracted = nullptr)
      : extracted(extracted) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<ProgramOp> programs = exec::getPrograms(module);
    if (failed(verifyPositions(module, programs)))
      return signalPassFailure();
    std::vector<Calls> calls = findCalls(programs);
    if (failed(MessageCheck().run(programs, calls)) ||
        failed(CallCheck().run(programs, calls)))
      return signalPassFailure();
    // One order for all ranks cannot stand still.
    bool canStand = programs.size() > 1;
    if (!canStand && !extracted)
      return;
    Program program = extractProgram(programs);
    if (std::optional<std::string> fault = verifyProgram(program)) {
      module.emitError("has a faulty program: ") << *fault;
      return signalPassFailure();
    }
    // E23.
    if (std::optional<std::string> circle =
            canStand ? findDeadlock(program) : std::nullopt) {
      module.emitError("has statements that wait in a circle: ")
          << *circle << " (E23)";
      return signalPassFailure();
    }
    if (extracted)
      *extracted = std::move(program);
  }

  Program *extracted;
};

} // namespace

std::unique_ptr<Pass> createVerifyPrograms(Program *extracted) {
  return std::make_unique<VerifyProgramsPass>(extracted);
}

} // namespace parplan
