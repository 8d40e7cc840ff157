//===- KernelChains.cpp - What element-wise kernels take in ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "KernelChains.h"

#include "parplan/Support/Sizes.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;

static int64_t countElements(const PlanningProblem &problem, int value) {
  return multiplySizes(problem.values[value].shape);
}

bool parplan::replacesVariable(const PlanningProblem &problem,
                               const PlanningOp &op) {
  return llvm::any_of(op.results, [&](int result) {
    return problem.values[result].updates >= 0;
  });
}

bool parplan::isElementwise(const PlanningProblem &problem,
                            const PlanningOp &op) {
  return op.work.kind == WorkKind::elementwise &&
         !replacesVariable(problem, op);
}

bool parplan::isSpread(const PlanningProblem &problem, const PlanningOp &op) {
  return op.work.kind == WorkKind::copy && op.operands.size() == 1 &&
         countElements(problem, op.operands.front()) <
             countElements(problem, op.results.front());
}

bool parplan::isComputedInside(const PlanningProblem &problem,
                               const PlanningOp &op, const PlanningOp &into) {
  // Sums over micro-batches are kernels of their own.
  if (op.accumulates || op.role == OpRole::gradientSum ||
      op.perMicroBatch != into.perMicroBatch)
    return into.accumulates && !op.accumulates &&
           op.role != OpRole::gradientSum;
  bool repeats = countElements(problem, into.results.front()) >
                 countElements(problem, op.results.front());
  return op.work.transcendentals.empty() || !repeats;
}

namespace {

class ChainFinder {
public:
  explicit ChainFinder(const PlanningProblem &problem)
      : problem(problem), makers(problem.values.size(), -1),
        uses(problem.values.size()), chained(problem.ops.size(), 0),
        takesIn(problem.ops.size(), false),
        isCostly(problem.ops.size(), false) {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      for (int operand : op.operands)
        uses[operand].push_back(static_cast<int>(index));
      for (int result : op.results)
        makers[result] = static_cast<int>(index);
    }
  }

  std::vector<int> run() {
    // In program order: what an op computes itself is known before it is read.
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      if (!isOfKernels(op))
        continue;
      isCostly[index] = !op.work.transcendentals.empty();
      for (int operand : op.operands) {
        int maker = makers[operand];
        int reads = maker < 0 ? 0 : countReads(maker, op);
        if (reads == 0)
          continue;
        chained[maker] = reads;
        takesIn[index] = true;
        isCostly[index] = isCostly[index] || isCostly[maker];
      }
    }
    return std::move(chained);
  }

private:
  bool isOfKernels(const PlanningOp &op) const {
    return isElementwise(problem, op) || isSpread(problem, op);
  }

  int countReads(int maker, const PlanningOp &into) const {
    const PlanningOp &op = problem.ops[maker];
    if (op.results.size() != 1 || !isOfKernels(op))
      return 0;
    int result = op.results.front();
    const PlanningValue &value = problem.values[result];
    // Pairs and blocks are written together.
    bool isByElement = llvm::all_of(op.rule.factors, [](const Factor &factor) {
      return factor.kind == FactorKind::parallel;
    });
    if (value.isOutput || value.isServed || !isByElement)
      return 0;
    // Taking elements is free, computing them is not.
    bool isFree = isSpread(problem, op) && !takesIn[maker];
    if (isFree && llvm::all_of(uses[result], [&](int reader) {
          return isOfKernels(problem.ops[reader]);
        }))
      return PlanningOp::anyReads;
    bool repeats = countElements(problem, into.results.front()) >
                   countElements(problem, result);
    return uses[result].size() == 1 && isComputedInside(problem, op, into) &&
                   !(isCostly[maker] && repeats)
               ? 1
               : 0;
  }

  const PlanningProblem &problem;
  std::vector<int> makers;
  /// Per value its readers, as often as they read it.
  std::vector<std::vector<int>> uses;
  std::vector<int> chained;
  /// Per op whether its kernel computes others, and whether anything of it
  /// costs many times an addition.
  std::vector<bool> takesIn, isCostly;
};

} // namespace

std::vector<int> parplan::findChainedReads(const PlanningProblem &problem) {
  return ChainFinder(problem).run();
}
