//===- PrefetchGathers.cpp - Gathers ahead of their use -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "passes/Memory/Passes.h"
#include "passes/Partition/ShardingAccess.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

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

struct PrefetchGathersPass : impl::PrefetchGathersBase<PrefetchGathersPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      run(function);
  }

  static void run(func::FuncOp function) {
    Block &body = function.getBody().front();
    SmallVector<SmallVector<AllGatherOp>> groups;
    for (auto gather : function.getOps<AllGatherOp>()) {
      if (getSources(gather).empty())
        continue;
      if (groups.empty() || !belongTogether(groups.back().back(), gather))
        groups.emplace_back();
      groups.back().push_back(gather);
    }
    for (ArrayRef<AllGatherOp> group : groups)
      for (AllGatherOp gather : group)
        for (Operation *source : getSources(gather))
          source->moveBefore(&body, body.begin());
    // From the last one, so that each finds the one before in its old place.
    for (size_t index = groups.size(); index > 1; --index) {
      Operation *place = groups[index - 2].front();
      for (AllGatherOp gather : groups[index - 1]) {
        gather->moveAfter(place);
        place = gather;
      }
    }
  }
};

} // namespace
} // namespace parplan
