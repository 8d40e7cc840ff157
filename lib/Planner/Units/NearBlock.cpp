//===- NearBlock.cpp - What is nearly one more block ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "NearBlock.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace parplan;

/// They are of one type and read and make values of the same content.
static bool areAlike(const PlanningProblem &problem, const Contents &contents,
                     int one, int other) {
  const PlanningOp &left = problem.ops[one], &right = problem.ops[other];
  auto areSame = [&](llvm::ArrayRef<int> some, llvm::ArrayRef<int> others) {
    return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                      [&](int value, int of) {
                        return contents.ofValue[value] == contents.ofValue[of];
                      });
  };
  return left.type == right.type && left.role == right.role &&
         left.rule.factors == right.rule.factors &&
         areSame(left.operands, right.operands) &&
         areSame(left.results, right.results);
}

std::vector<int> parplan::findNearBlock(const PlanningProblem &problem,
                                        const Contents &contents,
                                        const Folding &folding,
                                        const Folding::Run &run) {
  const std::vector<int> &last =
      folding.blocks[run.firstBlock + run.blockCount - 1].ops;
  std::vector<int> found;
  for (int op = last.back() + 1;
       found.size() < last.size() && op < static_cast<int>(problem.ops.size());
       ++op) {
    if (!isBeforeBackward(problem.ops[op].role))
      continue;
    if (folding.blockOfOp[op] >= 0 ||
        !areAlike(problem, contents, last[found.size()], op))
      return {};
    found.push_back(op);
  }
  if (found.size() < last.size())
    return {};
  return found;
}
