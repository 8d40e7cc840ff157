//===- VisitSums.cpp - Gradients that are reduced once per visit ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline/VisitSums.h"

#include "passes/Pipeline/StepSegments.h"

using namespace mlir;

namespace parplan {

/// Casts are none of them: what is added up keeps the type of the sum.
static bool isSumMove(Operation *op) {
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return reduce.getKind() == ReduceKind::sum;
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return scatter.getKind() == ReduceKind::sum;
  return isa<AllGatherOp, AllToAllOp, SendReceiveOp, ShardSliceOp,
             StorageViewOp>(op);
}

std::optional<VisitSum> findVisitSum(AccumulateOp sum) {
  if (!sum->hasAttr(attributes::perVisit))
    return std::nullopt;
  VisitSum found;
  found.ops.push_back(sum);
  found.leaf = sum.getInput();
  bool communicates = false;
  auto isOnlyRead = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return maker && value.hasOneUse() && runsPerMicroBatch(maker) &&
           getStage(maker) == getStage(sum);
  };
  while (isOnlyRead(found.leaf) && isSumMove(found.leaf.getDefiningOp())) {
    Operation *move = found.leaf.getDefiningOp();
    communicates |= isa<CollectiveOpInterface>(move);
    found.ops.push_back(move);
    found.leaf = move->getOperand(0);
  }
  if (!communicates || !isOnlyRead(found.leaf) ||
      found.leaf.getDefiningOp()->getNumResults() != 1)
    return std::nullopt;
  std::reverse(found.ops.begin(), found.ops.end());
  return found;
}

} // namespace parplan
