//===- PrefetchGathers.cpp - Gathers ahead of their use -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "passes/Memory/Passes.h"
#include "passes/Partition/ShardingAccess.h"

#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Threading.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_PREFETCHGATHERS
#include "passes/Memory/Passes.h.inc"

namespace {

/// The variable whose pieces `gather` joins, perhaps converted, from the end;
/// empty where it joins anything else.
SmallVector<Operation *> getSources(AllGatherOp gather) {
  SmallVector<Operation *> sources;
  if (static_cast<int64_t>(gather.getDim()) != -1)
    return sources;
  Operation *op = gather.getInput().getDefiningOp();
  for (; isa_and_present<CastOp>(op); op = op->getOperand(0).getDefiningOp())
    sources.push_back(op);
  if (!isa_and_present<ParameterOp, BucketParameterOp>(op))
    return {};
  sources.push_back(op);
  return sources;
}

/// True for gathers that are needed together: of one block, in one pass.
bool belongTogether(AllGatherOp left, AllGatherOp right) {
  Attribute block = left->getAttr(attributes::block);
  return block && block == right->getAttr(attributes::block) &&
         left->getAttr(attributes::microBatch) ==
             right->getAttr(attributes::microBatch) &&
         isBeforeBackward(getReader(left).role) ==
             isBeforeBackward(getReader(right).role);
}

/// Gathers whose first one is before op `index` of what computes.
struct Group {
  SmallVector<AllGatherOp> gathers;
  size_t index;
  double seconds = 0;
};

/// Moves groups to where they are just in time. Computation and communication
/// are two clocks: an op begins when those before it are done, a collective
/// when those before it are and it is issued.
class GatherPlacer {
public:
  GatherPlacer(func::FuncOp function, const PlanCosts &costs,
               const ShardingAccess &access)
      : body(function.getBody().front()), costs(costs), access(access) {}

  void run() {
    llvm::SetVector<Operation *> sources;
    for (auto gather : body.getOps<AllGatherOp>())
      for (Operation *source : llvm::reverse(getSources(gather)))
        sources.insert(source);
    if (sources.empty())
      return;
    for (Operation *source : llvm::reverse(sources))
      source->moveBefore(&body, body.begin());
    collect();
    // The first one stays. `free` is when what is issued before op `next` has
    // been communicated.
    size_t next = 0;
    double free = 0;
    for (size_t number = 0; number < groups.size(); ++number) {
      const Group &group = groups[number];
      size_t earliest = number > 0 ? groups[number - 1].index : group.index;
      for (; next < earliest; ++next)
        communicate(next, free);
      SmallVector<double> frees = {free};
      for (size_t index = earliest; index < group.index; ++index) {
        communicate(index, free);
        frees.push_back(free);
      }
      size_t place = findPlace(group, earliest, frees);
      if (place < group.index)
        for (AllGatherOp gather : group.gathers)
          gather->moveBefore(ops[place]);
      free = std::max(frees[place - earliest], starts[place]) + group.seconds;
      next = place;
    }
  }

private:
  void collect() {
    double seconds = 0;
    for (Operation &op : body) {
      if (auto gather = dyn_cast<AllGatherOp>(op);
          gather && !getSources(gather).empty()) {
        if (groups.empty() ||
            !belongTogether(groups.back().gathers.back(), gather))
          groups.push_back({{}, ops.size()});
        groups.back().gathers.push_back(gather);
        groups.back().seconds += getCollectiveSeconds(&op);
        continue;
      }
      ops.push_back(&op);
      starts.push_back(seconds);
      if (isa<CostOpInterface>(op) && isa<ShardingRuleOpInterface>(op))
        seconds += getOpSeconds(&op);
    }
  }

  /// The latest place from which the group is there in time, else the earliest.
  /// `frees` says when communication is done that is issued before each place.
  size_t findPlace(const Group &group, size_t earliest,
                   ArrayRef<double> frees) const {
    auto isLate = [&](size_t place) {
      double start = std::max(frees[place - earliest], starts[place]);
      return start + estimateMargin * group.seconds > starts[group.index];
    };
    size_t place = group.index;
    while (place > earliest && isLate(place))
      --place;
    return place;
  }

  void communicate(size_t index, double &free) const {
    if (isa<CollectiveOpInterface>(ops[index]))
      free = std::max(free, starts[index]) + getCollectiveSeconds(ops[index]);
  }

  double getOpSeconds(Operation *op) const {
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    SmallVector<int64_t> sizes;
    for (const Factor &factor : rule.factors)
      sizes.push_back(factor.size);
    return costs.getOpSeconds(evaluateWork(op, sizes));
  }

  double getCollectiveSeconds(Operation *op) const {
    auto collective = cast<CollectiveOpInterface>(op);
    int64_t bytes = 0;
    auto regard = [&](TypeRange types) {
      for (Type type : types)
        bytes = std::max(bytes, cast<RankedTensorType>(type).getNumElements() *
                                    getElementBytes(type));
    };
    regard(op->getOperandTypes());
    regard(op->getResultTypes());
    return costs.getCollectiveSeconds(
        collective.getCollectiveKind(), access.getMesh(),
        access.getAxes(collective.getCollectiveAxes()), bytes);
  }

  Block &body;
  const PlanCosts &costs;
  const ShardingAccess &access;
  /// All but the gathers, and when each begins.
  SmallVector<Operation *> ops;
  SmallVector<double> starts;
  SmallVector<Group> groups;
};

struct PrefetchGathersPass : impl::PrefetchGathersBase<PrefetchGathersPass> {
  using PrefetchGathersBase::PrefetchGathersBase;
  explicit PrefetchGathersPass(const PlanCosts *costs) : costs(costs) {}

  void runOnOperation() override {
    FailureOr<ShardingAccess> access = ShardingAccess::create(getOperation());
    if (failed(access))
      return signalPassFailure();
    if (costs)
      return run(*costs, *access);
    parplan::DiagnosticEngine engine;
    std::unique_ptr<PlanCosts> loaded =
        loadCosts(cluster, access->getMesh().getRankCount(), engine);
    if (!loaded) {
      getOperation().emitError(engine.render());
      return signalPassFailure();
    }
    run(*loaded, *access);
  }

private:
  void run(const PlanCosts &used, const ShardingAccess &access) {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    parallelForEach(&getContext(), functions, [&](func::FuncOp function) {
      GatherPlacer(function, used, access).run();
    });
  }

  const PlanCosts *costs = nullptr;
};

} // namespace

std::unique_ptr<Pass> createPrefetchGathers(const PlanCosts *costs) {
  return std::make_unique<PrefetchGathersPass>(costs);
}

} // namespace parplan
