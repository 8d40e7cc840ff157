//===- Phases.cpp - The parts of a step -----------------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Phases.h"

using namespace parplan;

std::vector<Phase> parplan::getPhases(const PlanningProblem &problem) {
  std::vector<Phase> phases;
  // A forward pass of one micro-batch does not say what is of it: all is.
  bool isOnePass = !isTraining(problem) && problem.microBatches == 1;
  std::vector<int> producers(problem.values.size(), -1);
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    bool isOfPass = op.perMicroBatch || op.accumulates || isOnePass;
    phases.push_back(!isOfPass                      ? Phase::end
                     : isBeforeBackward(op.role)    ? Phase::forward
                     : op.role == OpRole::optimizer ? Phase::end
                                                    : Phase::weightGradient);
    for (int result : op.results)
      producers[result] = static_cast<int>(index);
  }
  // What gradients of inputs need is with them, and what passes need of the
  // step is made before.
  std::vector<bool> isNeeded(problem.ops.size(), false);
  for (size_t index = problem.ops.size(); index-- > 0;) {
    const PlanningOp &op = problem.ops[index];
    Phase &phase = phases[index];
    if (phase == Phase::weightGradient &&
        (isNeeded[index] || op.role == OpRole::inputGradient))
      phase = Phase::inputGradient;
    if (phase == Phase::end && isNeeded[index])
      phase = Phase::start;
    for (int operand : op.operands) {
      int producer = producers[operand];
      if (producer < 0)
        continue;
      bool isOfPass = phases[producer] != Phase::end;
      if (isOfPass ? phase == Phase::inputGradient : phase != Phase::end)
        isNeeded[producer] = true;
    }
  }
  return phases;
}
