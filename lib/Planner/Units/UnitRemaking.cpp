//===- UnitRemaking.cpp - What a unit makes again -------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitRemaking.h"

using namespace parplan;

using Part = StepUnits::Part;

bool parplan::gathersAgain(const UnitSample &sample, int value,
                           const UnitRemaking &remaking) {
  const UnitSample::Value &description = sample.values[value];
  Part part = description.part;
  bool isOwnCopy =
      part == Part::own ||
      ((part == Part::before || part == Part::behind) && description.maker < 0);
  return remaking.gathersAgain && isOwnCopy &&
         sample.problem.values[value].kind == ValueKind::activation;
}

UnitRemaking parplan::getRemaking(const UnitSample &sample, int kind,
                                  UnitMode mode) {
  const PlanningProblem &problem = sample.problem;
  const UnitSample::Range &range = sample.kinds[kind];
  UnitRemaking remaking;
  remaking.recomputed.assign(problem.ops.size(), false);
  remaking.gathersAgain =
      mode == UnitMode::gatherAgain || mode == UnitMode::full;
  if (mode == UnitMode::keep || mode == UnitMode::gatherAgain)
    return remaking;
  std::vector<bool> isReadBackward(problem.values.size(), false);
  for (int op = range.firstOp; op < range.endOp; ++op)
    if (isBackward(sample.phases[op]))
      for (int operand : problem.ops[op].operands)
        isReadBackward[operand] = true;
  for (int index = range.firstOp; index < range.endOp; ++index) {
    const PlanningOp &op = problem.ops[index];
    bool mayBe = op.role == OpRole::forward && op.perMicroBatch &&
                 !op.accumulates && llvm::all_of(op.results, [&](int result) {
                   return sample.values[result].part == Part::own &&
                          problem.values[result].updates < 0 &&
                          !problem.values[result].isOutput;
                 });
    bool isAttention = op.keyFactor >= 0;
    bool isCheap = !isAttention && !isMatrix(op.work.kind);
    bool isWanted = mode == UnitMode::full ||
                    (isAttention && mode != UnitMode::cheap) ||
                    (isCheap && mode != UnitMode::attention);
    bool isMadeOfKept =
        mode == UnitMode::full || llvm::all_of(op.operands, [&](int operand) {
          const UnitSample::Value &value = sample.values[operand];
          if (value.maker < 0)
            return true;
          return isReadBackward[operand] || value.isReadBackwardElsewhere ||
                 !problem.ops[value.maker].perMicroBatch ||
                 remaking.recomputed[value.maker];
        });
    remaking.recomputed[index] = mayBe && isWanted && isMadeOfKept;
  }
  return remaking;
}
