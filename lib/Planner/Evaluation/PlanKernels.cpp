//===- PlanKernels.cpp - Ops inside of the kernels that read them ---------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PlanKernels.h"

#include <algorithm>

using namespace parplan;

/// Whether an element of `value` in one layout is an element in the other on
/// the same rank, or zero.
static bool isTakenInside(const NumberedPlan &plan, int value, int from,
                          int to) {
  return from == to ||
         llvm::all_of(plan.tables.getChange(value, from, to).path->moves,
                      [](const Move &move) {
                        return move.isLocal() && move.dim != Move::storage;
                      });
}

PlanKernels::PlanKernels(const NumberedPlan &plan)
    : fused(plan.problem.ops.size()), ends(plan.problem.ops.size()) {
  const std::vector<int> &producers = plan.facts.producers;
  for (auto [index, op] : llvm::enumerate(plan.problem.ops)) {
    int number = static_cast<int>(index);
    ends[index] = number;
    if (op.isFused) {
      int made = op.results[0];
      fused[index] =
          plan.answer.getTier(made) == MemoryTier::device &&
          isTakenInside(plan, made, plan.getMade(number, 0), plan.rest[made]);
    }
    for (auto [position, operand] : llvm::enumerate(op.operands))
      if (int producer = producers[operand];
          producer >= 0 && fused[producer] &&
          !isTakenInside(plan, operand, plan.rest[operand],
                         plan.getUse(number, position)))
        fused[producer] = false;
  }
  // Readers before what they read.
  for (size_t index = plan.problem.ops.size(); index-- > 0;)
    for (int operand : plan.problem.ops[index].operands)
      if (int producer = producers[operand]; producer >= 0 && fused[producer])
        ends[producer] = std::max(ends[producer], ends[index]);
}
