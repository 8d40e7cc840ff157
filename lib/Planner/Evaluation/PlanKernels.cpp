//===- PlanKernels.cpp - What kernels of a plan take in -------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PlanKernels.h"

#include <algorithm>

using namespace parplan;

/// Whether an element of `value` in one layout is an element in the other on
/// the same rank, or zero. A block that several readers take is written.
static bool isTakenInside(const NumberedPlan &plan, int reads, int value,
                          int from, int to) {
  if (from == to)
    return true;
  const PlanTables::Change &change = plan.tables.getChange(value, from, to);
  return reads == 1 && change.isFound &&
         llvm::all_of(change.path->moves, [](const Move &move) {
           return move.kind == MoveKind::pend ||
                  (move.kind == MoveKind::slice && move.dim != Move::storage);
         });
}

PlanKernels::PlanKernels(const NumberedPlan &plan)
    : fused(plan.problem.ops.size()), ends(plan.problem.ops.size()) {
  const std::vector<int> &producers = plan.facts.producers;
  for (auto [index, op] : llvm::enumerate(plan.problem.ops)) {
    int number = static_cast<int>(index);
    ends[index] = number;
    if (op.fusedReads > 0) {
      int made = op.results[0];
      fused[index] = plan.answer.getTier(made) == MemoryTier::device &&
                     isTakenInside(plan, op.fusedReads, made,
                                   plan.getMade(number, 0), plan.rest[made]);
    }
    for (auto [position, operand] : llvm::enumerate(op.operands))
      if (int producer = producers[operand];
          producer >= 0 && fused[producer] &&
          !isTakenInside(plan, plan.problem.ops[producer].fusedReads, operand,
                         plan.rest[operand], plan.getUse(number, position)))
        fused[producer] = false;
  }
  // Readers before what they read.
  for (size_t index = plan.problem.ops.size(); index-- > 0;)
    for (int operand : plan.problem.ops[index].operands)
      if (int producer = producers[operand]; producer >= 0 && fused[producer])
        ends[producer] = std::max(ends[producer], ends[index]);
}
