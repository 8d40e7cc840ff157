//===- StepProblem.h - Steps by the number of micro-batches -----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_STEPPROBLEM_H
#define PARPLAN_PLANNER_STEPPROBLEM_H

#include "parplan/Planner/AffineProblem.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace parplan {

/// The step of one number of micro-batches: a problem, or one on a line of
/// steps, which is made when it is asked for.
class StepProblem {
public:
  /// Any problem is such a step.
  StepProblem(PlanningProblem whole)
      : StepProblem(std::make_shared<PlanningProblem>(std::move(whole))) {}
  StepProblem(std::shared_ptr<const PlanningProblem> whole)
      : whole(std::move(whole)) {}
  /// With so many samples in each micro-batch, for which the line is whole.
  StepProblem(std::shared_ptr<const AffineProblem> line, int64_t samples,
              int64_t microBatches);

  /// On a line it is made anew.
  std::shared_ptr<const PlanningProblem> get() const;
  /// One that has the ops and values of this one, but may have other sizes.
  const PlanningProblem &getAlike() const {
    return line ? line->getBase() : *whole;
  }
  int64_t getMicroBatches() const {
    return line ? microBatches : whole->microBatches;
  }
  /// Null: it is on none.
  const std::shared_ptr<const AffineProblem> &getLine() const { return line; }
  /// On its line; of no meaning beside one.
  int64_t getSamples() const { return samples; }

private:
  std::shared_ptr<const PlanningProblem> whole;
  std::shared_ptr<const AffineProblem> line;
  int64_t samples = 0, microBatches = 1;
};

/// What a search is given.
struct StepProblems {
  /// Those that the step can have, ascending.
  std::vector<int64_t> counts;
  /// The same whenever it is asked, for one count at a time, by any thread;
  /// nullopt: it cannot be had after all.
  std::function<std::optional<StepProblem>(int64_t count)> get;
  /// The same with the ops that there are for several samples in each
  /// micro-batch, also where there is but one (`ScaledProblem::getPart`), of
  /// these numbers of micro-batches. Some may be no `counts`: of replicas
  /// together there are more micro-batches than any of them runs.
  struct Parts {
    std::vector<int64_t> counts;
    std::function<std::optional<StepProblem>(int64_t count)> get;
  };
  std::optional<Parts> parts = {};
  /// The same steps with experts in so many groups (`getExpertGroups`), for as
  /// long as these; none: whatever the groups, steps are these.
  std::function<StepProblems(int64_t groups)> inGroups = {};
  StepProblems getInGroups(int64_t groups) const {
    return inGroups ? inGroups(groups) : *this;
  }
};

} // namespace parplan

#endif // PARPLAN_PLANNER_STEPPROBLEM_H
