//===- VerifyPipeline.cpp - The positions against each other --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/ShardingAccess.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/StageFlow.h"

#include "mlir/IR/Threading.h"

#include <map>

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_VERIFYPIPELINE
#include "passes/Pipeline/Passes.h.inc"

namespace {

/// The functions of a module that are programs of positions, and what they
/// wait for.
class PipelineVerifier {
public:
  explicit PipelineVerifier(ModuleOp module) : module(module) {}

  LogicalResult run() {
    if (failed(collect()))
      return failure();
    if (functions.empty())
      return success();
    verifyGroups();
    verifyMessages();
    // What cannot be matched waits for ever.
    if (sound)
      verifyOrder();
    std::vector<LogicalResult> passes(functions.size(), success());
    parallelFor(module.getContext(), 0, functions.size(), [&](size_t position) {
      passes[position] = verifyPasses(functions[position]);
    });
    return success(sound && llvm::all_of(passes, [](LogicalResult each) {
                     return succeeded(each);
                   }));
  }

private:
  static InFlightDiagnostic emitFault(Operation *op) {
    return op->emitError("after pipeline: ");
  }

  InFlightDiagnostic fail(Operation *op) {
    sound = false;
    return emitFault(op);
  }

  LogicalResult collect() {
    MeshOp mesh = getOnlyMesh(module);
    MeshAxisAttr axis = mesh ? getPipelineAxis(mesh) : MeshAxisAttr();
    for (auto function : module.getOps<func::FuncOp>()) {
      auto position =
          function->getAttrOfType<IntegerAttr>(attributes::position);
      if (!position)
        continue;
      if (!axis) {
        fail(function) << "the mesh has no pipeline axis";
        return failure();
      }
      if (functions.empty())
        functions.resize(axis.getSize());
      if (position.getInt() >= axis.getSize() || functions[position.getInt()]) {
        fail(function) << "position " << position.getInt() << " of "
                       << axis.getSize() << " is no other's";
        return failure();
      }
      functions[position.getInt()] = function;
    }
    for (auto [position, function] : llvm::enumerate(functions))
      if (!function) {
        fail(module) << "position " << position << " has no program";
        return failure();
      }
    if (!functions.empty())
      axisName = axis.getName();
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Messages
  //===--------------------------------------------------------------------===//

  /// What every position waits for others in: messages, and collectives over
  /// the pipeline axis.
  bool waits(Operation &op) const {
    if (isa<PointToPointOpInterface>(op))
      return true;
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    return collective && llvm::any_of(collective.getCollectiveAxes().getNames(),
                                      [&](StringAttr name) {
                                        return name.getValue() == axisName;
                                      });
  }

  static int64_t getPeer(Operation *op) {
    return static_cast<int64_t>(cast<PointToPointOpInterface>(op).getPeer());
  }

  /// P13: a message stands with the next op only if that is its way back.
  void verifyGroups() {
    for (func::FuncOp function : functions)
      for (Operation &op : function.getBody().front()) {
        if (!isIssuedWithNext(op))
          continue;
        Operation *next = op.getNextNode();
        if (!isa<PointToPointOpInterface>(next) || isIssuedWithNext(*next) ||
            isa<SendOp>(op) == isa<SendOp>(next) ||
            getPeer(&op) != getPeer(next))
          fail(&op) << "P13: stands with an op that is not its way back";
      }
  }
  static bool isIssuedWithNext(Operation &op) {
    auto send = dyn_cast<SendOp>(op);
    auto receive = dyn_cast<ReceiveOp>(op);
    return (send && send.getWithNext()) || (receive && receive.getWithNext());
  }

  /// P11: one list per directed pair on either side.
  void verifyMessages() {
    using Pair = std::pair<int64_t, int64_t>;
    std::map<Pair, std::vector<Operation *>> sent, received;
    for (auto [position, function] : llvm::enumerate(functions))
      for (Operation &op : function.getBody().front()) {
        auto own = static_cast<int64_t>(position);
        if (isa<SendOp>(op))
          sent[{own, getPeer(&op)}].push_back(&op);
        else if (isa<ReceiveOp>(op))
          received[{getPeer(&op), own}].push_back(&op);
      }
    for (auto &[pair, ops] : received)
      sent.try_emplace(pair);
    for (auto &[pair, sends] : sent) {
      const std::vector<Operation *> &receives = received[pair];
      for (auto [index, send] : llvm::enumerate(sends))
        if (index >= receives.size()) {
          fail(send) << "P11: position " << pair.second << " receives "
                     << receives.size() << " messages from " << pair.first
                     << ", not this one";
          break;
        } else if (!verifyMessage(send, receives[index], index)) {
          break;
        }
      if (receives.size() > sends.size())
        fail(receives[sends.size()])
            << "P11: position " << pair.first << " sends " << sends.size()
            << " messages to " << pair.second << ", not this one";
    }
  }

  bool verifyMessage(Operation *send, Operation *receive, size_t index) {
    Value value = cast<PointToPointOpInterface>(send).getMessage();
    Value own = cast<PointToPointOpInterface>(receive).getMessage();
    ShardingAttr sharding = getSharding(value), ownSharding = getSharding(own);
    bool isSame = value.getType() == own.getType() &&
                  (!sharding || !ownSharding || sharding == ownSharding);
    if (isSame)
      return true;
    InFlightDiagnostic diagnostic = fail(receive);
    diagnostic << "P11: message " << index << " is received as another type or "
               << "layout than it is sent in";
    diagnostic.attachNote(send->getLoc()) << "it is sent here";
    return false;
  }

  /// P12: without any buffer a message needs both sides at it, a collective
  /// all.
  void verifyOrder() {
    std::vector<std::vector<Operation *>> waiting(functions.size());
    for (auto [own, function] : llvm::zip_equal(waiting, functions))
      for (Operation &op : function.getBody().front())
        if (waits(op))
          own.push_back(&op);
    std::vector<size_t> next(functions.size());
    auto getNext = [&](size_t position) {
      return next[position] < waiting[position].size()
                 ? waiting[position][next[position]]
                 : nullptr;
    };
    auto advance = [&](size_t position) {
      Operation *op = getNext(position);
      if (!op)
        return false;
      if (!isa<PointToPointOpInterface>(op)) {
        for (size_t other = 0; other < functions.size(); ++other)
          if (!getNext(other) || isa<PointToPointOpInterface>(getNext(other)) ||
              getNext(other)->getName() != op->getName())
            return false;
        for (size_t &index : next)
          ++index;
        return true;
      }
      auto send = dyn_cast<SendOp>(op);
      auto receive = send ? dyn_cast_if_present<ReceiveOp>(getNext(getPeer(op)))
                          : ReceiveOp();
      if (!receive || getPeer(receive) != static_cast<int64_t>(position))
        return false;
      ++next[position];
      ++next[getPeer(op)];
      return true;
    };
    bool moves = true;
    while (moves) {
      moves = false;
      for (size_t position = 0; position < functions.size(); ++position)
        while (advance(position))
          moves = true;
    }
    for (size_t position = 0; position < functions.size(); ++position)
      if (Operation *op = getNext(position)) {
        fail(op) << "P12: position " << position << " waits here for ever";
        return;
      }
  }

  //===--------------------------------------------------------------------===//
  // Passes
  //===--------------------------------------------------------------------===//

  /// P10: ops of micro-batches stand in the order of the table, and no more of
  /// them are in flight than it says.
  static LogicalResult verifyPasses(func::FuncOp function) {
    FailureOr<std::optional<PipelineCut>> cut = readPipelineCut(function);
    if (failed(cut))
      return failure();
    if (!*cut)
      return success();
    int64_t position =
        function->getAttrOfType<IntegerAttr>(attributes::position).getInt();
    PipelineSchedule schedule = (*cut)->makeSchedule();
    const std::vector<Pass> &passes = schedule.passes[position];
    auto find = [&](PassKind kind, int64_t microBatch, int64_t chunk) {
      auto found = llvm::find(passes, Pass{kind, microBatch, chunk});
      return found - passes.begin();
    };
    bool splits = splitsBackward((*cut)->shape.kind);
    int64_t current = 0;
    using Chunk = std::pair<int64_t, int64_t>;
    std::map<Chunk, std::pair<int64_t, int64_t>> flights;
    for (Operation &op : function.getBody().front()) {
      auto number = op.getAttrOfType<IntegerAttr>(attributes::microBatch);
      std::optional<int64_t> stage = getStage(&op);
      if (!number || !stage)
        continue;
      int64_t batch = number.getInt(), chunk = getChunk((*cut)->shape, *stage);
      // The role says where an op may be at the earliest: what reads values of
      // the backward pass belongs to it.
      SmallVector<PassKind, 3> kinds;
      if (isBeforeBackward(getReader(&op).role))
        kinds.push_back(PassKind::forward);
      if (splits)
        kinds.append({PassKind::inputGradient, PassKind::weightGradient});
      else
        kinds.push_back(PassKind::backward);
      // Mostly that of the op before it.
      const Pass &last = passes[current];
      bool isLast = last.microBatch == batch && last.chunk == chunk &&
                    llvm::is_contained(kinds, last.kind);
      int64_t pass = isLast ? current : -1;
      for (PassKind kind : kinds)
        if (pass < current)
          pass = find(kind, batch, chunk);
      if (getPosition((*cut)->shape, *stage) != position || pass < current ||
          pass == static_cast<int64_t>(passes.size())) {
        return emitFault(&op) << "P10: stands behind pass "
                              << printPass((*cut)->shape, passes[current])
                              << " and belongs to another one";
      }
      current = pass;
      auto flight = flights.try_emplace({batch, chunk}, pass, pass).first;
      flight->second.second = pass;
    }
    // Without a backward pass nothing outlives the pass that makes it.
    int64_t limit = hasBackward(schedule.shape.kind)
                        ? getInFlightPeak(schedule, position)
                        : 1;
    return verifyInFlight(function,
                          llvm::to_vector(llvm::make_second_range(flights)),
                          limit, passes.size());
  }

  static LogicalResult
  verifyInFlight(func::FuncOp function,
                 ArrayRef<std::pair<int64_t, int64_t>> flights, int64_t limit,
                 size_t passCount) {
    std::vector<int64_t> changes(passCount + 1);
    for (auto [first, last] : flights) {
      ++changes[first];
      --changes[last + 1];
    }
    int64_t inFlight = 0, peak = 0;
    for (int64_t change : changes) {
      inFlight += change;
      peak = std::max(peak, inFlight);
    }
    if (peak <= limit)
      return success();
    return emitFault(function)
           << "P10: " << peak << " micro-batches are in flight, and " << limit
           << " are by the schedule";
  }

  ModuleOp module;
  std::vector<func::FuncOp> functions;
  StringRef axisName;
  bool sound = true;
};

struct VerifyPipelinePass : impl::VerifyPipelineBase<VerifyPipelinePass> {
  void runOnOperation() override {
    if (failed(PipelineVerifier(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace

} // namespace parplan
