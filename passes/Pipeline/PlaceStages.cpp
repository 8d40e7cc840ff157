//===- PlaceStages.cpp - What every stage makes for itself ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/Layouts.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/StageFlow.h"
#include "passes/Pipeline/StepSegments.h"
#include "passes/Pipeline/TiedGradients.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_PLACESTAGES
#include "passes/Pipeline/Passes.h.inc"

namespace {

int64_t getBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * getElementBytes(type.getElementType());
}

class StagePlacer {
public:
  StagePlacer(func::FuncOp function, const PipelineCut &cut)
      : function(function), body(function.getBody().front()), cut(cut),
        builder(function.getContext()) {}

  LogicalResult run() {
    bool isStep = function->hasAttr(attributes::microBatches);
    if (!isStep)
      markRepeated();
    freeOps = findFreeOps(function);
    for (Operation *op : freeOps)
      op->removeAttr(attributes::stage);
    placeMoves();
    if (isStep) {
      for (auto sum : llvm::make_early_inc_range(body.getOps<AccumulateOp>()))
        splitTiedGradient(sum);
      placeOnce();
      for (auto sum : llvm::make_early_inc_range(body.getOps<SumOp>()))
        if (isNorm(sum))
          addOverPositions(sum);
    }
    return verifyFlow();
  }

private:
  void setStage(Operation *op, std::optional<int64_t> stage) {
    if (stage)
      op->setAttr(attributes::stage, builder.getI64IntegerAttr(*stage));
    else
      op->removeAttr(attributes::stage);
  }

  /// Inference is one micro-batch, of which all is.
  void markRepeated() {
    for (Operation &op : body.without_terminator())
      if (op.getNumOperands() > 0)
        op.setAttr(attributes::perMicroBatch, builder.getUnitAttr());
  }

  //===--------------------------------------------------------------------===//
  // Moves
  //===--------------------------------------------------------------------===//

  /// The stage of `value`'s maker, if it has one.
  static std::optional<int64_t> getMakerStage(Value value) {
    Operation *maker = value.getDefiningOp();
    return maker ? getStage(maker) : std::nullopt;
  }

  /// What makes less of a value runs before it is sent, what makes more of it
  /// afterwards.
  void placeMoves() {
    llvm::DenseMap<Operation *, PassKind> kinds =
        findPassKinds(function, /*split=*/false);
    auto isPlaced = [&](Operation &op) {
      return isMove(&op) && runsPerMicroBatch(&op) && !freeOps.contains(&op);
    };
    // What is summed up over micro-batches is so where it is made.
    llvm::DenseSet<Operation *> summed;
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (isPlaced(op) && llvm::all_of(op.getUsers(), [&](Operation *user) {
            return isa<AccumulateOp>(user) || summed.contains(user);
          }))
        summed.insert(&op);
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (isPlaced(op) && getStage(&op) && !summed.contains(&op))
        serveAllReaders(&op, kinds, summed);
    for (Operation &op : body.without_terminator()) {
      if (!isPlaced(op))
        continue;
      std::optional<int64_t> source = getMakerStage(op.getOperand(0));
      bool isLess = getBytes(op.getResult(0)) <= getBytes(op.getOperand(0));
      if (summed.contains(&op) || (source && (isLess || !getStage(&op)) &&
                                   canBeAt(&op, *source, kinds)))
        setStage(&op, source);
      else if (source && getStage(&op))
        setStage(&op, getNearest(&op, *source, kinds));
    }
    for (Operation &op : llvm::reverse(body.without_terminator())) {
      if (!isPlaced(op) || summed.contains(&op) ||
          getBytes(op.getResult(0)) <= getBytes(op.getOperand(0)))
        continue;
      std::optional<int64_t> reader = getOnlyReader(&op);
      if (reader && canBeAt(&op, *reader, kinds))
        setStage(&op, reader);
    }
  }

  /// A copy that several stages read belongs to the first one that needs it in
  /// its pass; or to none, where one of them is made by every position.
  void serveAllReaders(Operation *op,
                       const llvm::DenseMap<Operation *, PassKind> &kinds,
                       const llvm::DenseSet<Operation *> &summed) {
    bool isForward = kinds.lookup(op) == PassKind::forward;
    int64_t stage = *getStage(op);
    for (Operation *user : op->getUsers()) {
      if (isa<AccumulateOp>(user) || summed.contains(user) ||
          (kinds.lookup(user) == PassKind::forward) != isForward)
        continue;
      std::optional<int64_t> own = getStage(user);
      if (!own)
        return setStage(op, std::nullopt);
      stage = isForward ? std::min(stage, *own) : std::max(stage, *own);
    }
    setStage(op, stage);
  }

  /// The stage nearest to that of `op` that its operand, of stage `source`, can
  /// flow to.
  static int64_t
  getNearest(Operation *op, int64_t source,
             const llvm::DenseMap<Operation *, PassKind> &kinds) {
    Operation *maker = op->getOperand(0).getDefiningOp();
    if (!runsPerMicroBatch(maker))
      return *getStage(op);
    if (kinds.lookup(maker) != PassKind::forward)
      return std::min(*getStage(op), source);
    return kinds.lookup(op) == PassKind::forward
               ? std::max(*getStage(op), source)
               : *getStage(op);
  }

  /// P4 for a move from and to ops with stages.
  static bool canBeAt(Operation *op, int64_t stage,
                      const llvm::DenseMap<Operation *, PassKind> &kinds) {
    auto flows = [&](Operation *maker, int64_t from, Operation *reader,
                     int64_t to) {
      bool isMadeForward = kinds.lookup(maker) == PassKind::forward;
      return kinds.lookup(reader) == PassKind::forward
                 ? isMadeForward && from <= to
                 : isMadeForward || from >= to;
    };
    Operation *maker = op->getOperand(0).getDefiningOp();
    if (maker && runsPerMicroBatch(maker) &&
        (!getStage(maker) || !flows(maker, *getStage(maker), op, stage)))
      return false;
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return isa<AccumulateOp>(user) ||
             (getStage(user) && flows(op, stage, user, *getStage(user)));
    });
  }

  /// The stage of all readers of `op`, if they have one and the same.
  static std::optional<int64_t> getOnlyReader(Operation *op) {
    std::optional<int64_t> only;
    for (Operation *user : op->getUsers()) {
      std::optional<int64_t> stage = getStage(user);
      if (!stage || (only && only != stage))
        return std::nullopt;
      only = stage;
    }
    return only;
  }

  //===--------------------------------------------------------------------===//
  // Once per step
  //===--------------------------------------------------------------------===//

  /// Ops on sums run where the sums are, updates where the parameter is read
  /// first, and what follows them with them.
  void placeOnce() {
    llvm::DenseMap<Operation *, int64_t> readers = findFirstReaders();
    for (Operation &op : body.without_terminator()) {
      if (runsPerMicroBatch(&op) || freeOps.contains(&op) ||
          isa<AccumulateOp>(op))
        continue;
      SmallVector<Operation *> makers;
      for (Value operand : op.getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && getStage(maker) && !llvm::is_contained(makers, maker))
          makers.push_back(maker);
      auto update = dyn_cast<OptimizerUpdateOp>(op);
      if (update) {
        std::optional<int64_t> first;
        for (ParameterOp parameter : getParameters(update.getParameter()))
          if (auto reader = readers.find(parameter); reader != readers.end())
            first = first ? std::min(*first, reader->second) : reader->second;
        if (first)
          setStage(&op, first);
      } else if (makers.size() == 1) {
        setStage(&op, getStage(makers.front()));
      }
      if (!getStage(&op) && !makers.empty())
        setStage(&op, getStage(makers.front()));
      else if (!getStage(&op))
        setStage(&op, 0);
    }
  }

  /// Per parameter the lowest stage whose per-micro-batch ops read it.
  llvm::DenseMap<Operation *, int64_t> findFirstReaders() {
    llvm::DenseMap<Operation *, int64_t> readers;
    for (Operation &op : body.without_terminator())
      if (getStage(&op) && runsPerMicroBatch(&op))
        for (ParameterOp parameter : getParameters(op.getOperands())) {
          auto [entry, isNew] = readers.try_emplace(parameter, *getStage(&op));
          entry->second = std::min(entry->second, *getStage(&op));
        }
    return readers;
  }

  //===--------------------------------------------------------------------===//
  // The norm
  //===--------------------------------------------------------------------===//

  /// A scalar of the optimizer that adds up what parameters contribute. All
  /// positions get it, also those that contribute nothing.
  bool isNorm(SumOp sum) {
    auto isOfStep = [&](Value term) {
      Operation *maker = term.getDefiningOp();
      return maker && (getStage(maker) || freeOps.contains(maker));
    };
    return !runsPerMicroBatch(sum) && getRole(sum) == roles::optimizer &&
           sum.getType().getRank() == 0 &&
           llvm::all_of(sum.getInputs(), isOfStep);
  }

  /// Every position adds what it has; then they add up their sums, and what
  /// follows, scalars, each computes for itself.
  void addOverPositions(SumOp sum) {
    builder.setInsertionPointAfter(sum);
    FlatSymbolRefAttr mesh = FlatSymbolRefAttr::get(
        getOnlyMesh(function->getParentOp()).getSymNameAttr());
    AxisListAttr none = AxisListAttr::get(sum.getContext(), {});
    ShardingAttr complete = getSharding(sum);
    if (!complete)
      complete = ShardingAttr::get(sum.getContext(), mesh, {}, none,
                                   ReductionKind::sum, none);
    // In the order of the mesh, of which the positions are the first axis.
    SmallVector<StringAttr> partial(cut.axes.getNames());
    llvm::append_range(partial, complete.getPartial().getNames());
    auto pending =
        ShardingAttr::get(sum.getContext(), mesh, complete.getDims(),
                          AxisListAttr::get(sum.getContext(), partial),
                          complete.getReduction(), complete.getStorage());
    auto total = builder.create<AllReduceOp>(sum.getLoc(), sum.getType(),
                                             sum.getResult(), cut.axes,
                                             ReduceKind::sum, complete);
    total->setAttr(attributes::role, builder.getStringAttr(roles::optimizer));
    Attribute global = sum->getAttr(attributes::globalType);
    total->setAttr(attributes::globalType,
                   global ? global : TypeAttr::get(sum.getType()));
    sum.getResult().replaceAllUsesExcept(total.getResult(), total);
    sum->setAttr(attributes::shardings, builder.getArrayAttr({pending}));
    setStage(sum, std::nullopt);
    unstageScalars(total);
  }

  void unstageScalars(Operation *op) {
    setStage(op, std::nullopt);
    for (Operation *user : op->getUsers()) {
      bool isScalar = user->getNumResults() > 0 &&
                      llvm::all_of(user->getResultTypes(), [](Type type) {
                        return cast<RankedTensorType>(type).getRank() == 0;
                      });
      if (isScalar && !isa<OptimizerUpdateOp>(user))
        unstageScalars(user);
    }
  }

  //===--------------------------------------------------------------------===//
  // Checks
  //===--------------------------------------------------------------------===//

  /// P4: forward goes up, backward comes down.
  LogicalResult verifyFlow() {
    llvm::DenseMap<Operation *, PassKind> kinds =
        findPassKinds(function, splitsBackward(cut.shape.kind));
    bool sound = true;
    for (Operation &op : body.without_terminator()) {
      if (!getStage(&op) || !runsPerMicroBatch(&op))
        continue;
      bool isForward = kinds.lookup(&op) == PassKind::forward;
      for (Value value : getStagedSources(op.getOperands())) {
        Operation *maker = value.getDefiningOp();
        if (!maker || !runsPerMicroBatch(maker))
          continue;
        bool isMadeForward = kinds.lookup(maker) == PassKind::forward;
        int64_t from = *getStage(maker), to = *getStage(&op);
        if (isForward ? isMadeForward && from <= to
                      : isMadeForward || from >= to)
          continue;
        sound = false;
        InFlightDiagnostic diagnostic = op.emitOpError("of stage ");
        diagnostic << to << " reads a value of stage " << from
                   << (isForward && !isMadeForward ? " that is made backward"
                                                   : "")
                   << (isForward ? ", forward (P4)" : ", backward (P4)");
        diagnostic.attachNote(maker->getLoc()) << "it is made here";
      }
    }
    return success(sound);
  }

  func::FuncOp function;
  Block &body;
  const PipelineCut &cut;
  OpBuilder builder;
  llvm::DenseSet<Operation *> freeOps;
};

struct PlaceStagesPass : impl::PlaceStagesBase<PlaceStagesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      FailureOr<std::optional<PipelineCut>> cut = readPipelineCut(function);
      if (failed(cut) || (*cut && failed(StagePlacer(function, **cut).run())))
        signalPassFailure();
    }
  }
};

} // namespace

} // namespace parplan
