//===- NumberedPlan.h - A plan by the numbers of its parts ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_NUMBEREDPLAN_H
#define PARPLAN_LIB_PLANNER_NUMBEREDPLAN_H

#include "PlanTables.h"

#include "parplan/Planner/PlanningAnswer.h"

namespace parplan {

/// A plan that decides every op and value of the problem of its tables, on
/// their mesh. Refers to both.
struct NumberedPlan {
  NumberedPlan(PlanTables &tables, const PlanningAnswer &answer);

  PlanTables &tables;
  const PlanningProblem &problem;
  const ProblemFacts &facts;
  const PlanningAnswer &answer;
  /// Per op its form, and per value its layout at rest.
  std::vector<int> forms, rest;

  const PlanTables::Form &getForm(int op) const {
    return tables.getForm(forms[op]);
  }
  int getUse(int op, size_t operand) const { return getForm(op).uses[operand]; }
  int getMade(int op, size_t result) const { return getForm(op).made[result]; }
  /// At rest, of one rank.
  int64_t getBytes(int value) const {
    return tables.getBytes(value, rest[value]);
  }
  /// It adds up micro-batches.
  bool isSum(int value) const {
    int producer = facts.producers[value];
    return producer >= 0 && problem.microBatches > 1 &&
           problem.ops[producer].accumulates;
  }
  /// Of a sum, the one result of its op, while it is added up.
  int64_t getSumBytes(int value) const {
    return tables.getBytes(value, getMade(facts.producers[value], 0));
  }
  /// Comes to rest as it is added up.
  bool restsAsMade(int value) const {
    return getMade(facts.producers[value], 0) == rest[value];
  }
  /// Bytes that bringing it to rest takes besides.
  int64_t getSumChange(int value) const {
    return getChangeToRest(value, getMade(facts.producers[value], 0))
        .transientBytes;
  }
  const PlanTables::Change &getChangeFromRest(int value, int layout) const {
    return tables.getChange(value, rest[value], layout);
  }
  const PlanTables::Change &getChangeToRest(int value, int layout) const {
    return tables.getChange(value, layout, rest[value]);
  }
  PlanTables::OpSeconds getSeconds(int op) const {
    return tables.getSeconds(op, forms[op]);
  }
};

/// A plan with tables of its own.
class OwnTables {
public:
  /// Without costs nobody may ask for seconds.
  OwnTables(const PlanningProblem &problem, const PlanningAnswer &answer,
            const PlanCosts *costs = nullptr)
      : tables(problem, std::make_shared<ProblemFacts>(problem), answer.mesh,
               costs),
        plan(tables, answer) {}
  const NumberedPlan &get() const { return plan; }

private:
  PlanTables tables;
  NumberedPlan plan;
};

class PlanKernels;

/// As `ValueCopy`, by numbers; with kernels a copy is read as long as one runs
/// that computes a reader.
struct NumberedCopy {
  int layout = 0;
  int firstUse = 0, lastUse = 0;
  CopyReader reader;
  int64_t repeat = 1;
};
std::vector<llvm::SmallVector<NumberedCopy, 1>>
getCopies(const NumberedPlan &plan, const PlanKernels *kernels = nullptr);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_NUMBEREDPLAN_H
