//===- SourceSteps.h - Steps by their micro-batches -------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_SOURCESTEPS_H
#define PARPLAN_LIB_PLANNER_SOURCESTEPS_H

#include "Background.h"
#include "SourceStep.h"

#include "parplan/Planner/StepProblem.h"

#include <map>
#include <memory>
#include <mutex>

namespace parplan {

/// What there is of every number of micro-batches, made once.
class SourceSteps {
public:
  /// All of them, by the threads of `background`. The others stay.
  SourceSteps(const StepProblems &problems, const PlanRequest &request,
              const PlanCosts &costs, Background &background);

  /// Those that may be searched.
  llvm::ArrayRef<int64_t> getCounts() const { return counts; }
  /// Why others may not.
  llvm::ArrayRef<std::string> getRefusals() const { return refusals; }
  /// Null: there is none.
  SourceStep *get(int64_t count) const;
  /// One with the ops of several samples in each micro-batch, though there may
  /// be but one. Null: none is known.
  SourceStep *getPart(int64_t count);

private:
  std::unique_ptr<SourceStep> make(const StepProblem &problem);
  std::vector<std::unique_ptr<SourceStep>> makeAll(Background &background);

  const StepProblems &problems;
  const PlanRequest &request;
  const PlanCosts &costs;
  std::vector<int64_t> counts;
  std::vector<std::string> refusals;
  /// By lines of steps, with the lock that finding them takes.
  std::map<std::shared_ptr<const AffineProblem>,
           std::shared_ptr<const UnitLine>>
      lines;
  std::mutex findingUnits;
  /// By number of micro-batches; of parts those that are no such steps.
  std::map<int64_t, std::unique_ptr<SourceStep>> steps, parts;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_SOURCESTEPS_H
