//===- ModelSteps.h - A model's step by its micro-batches -------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_MODELSTEPS_H
#define PARPLAN_DRIVER_MODELSTEPS_H

#include "lib/Driver/Frontend.h"
#include "parplan/Planner/FindPlan.h"
#include "parplan/Planner/ScaledProblem.h"

namespace parplan {

/// The planning problems of a step for each number of its micro-batches, most
/// of them from two small ones (`ScaledProblem`). Each equals the problem of
/// the model that is imported for that number.
class ModelSteps {
public:
  /// Of a model that was imported as `options` say, whose step can be cut into
  /// `counts` micro-batches, ascending. `options` says in which order its
  /// sequence lies. `known`: one of the steps, which need not be made again.
  ModelSteps(const SimplifiedModel &model, FrontendOptions options,
             std::vector<int64_t> counts,
             std::optional<PlanningProblem> known = std::nullopt);
  ModelSteps(const ModelSteps &) = delete;

  /// Refers to this.
  StepProblems getProblems();

  /// Why problems are imported one by one, where they are.
  const std::optional<std::string> &getObstacle() const {
    return scaled.getObstacle();
  }

private:
  StepProblems getOwn();
  /// The same steps with experts in other groups.
  ModelSteps(const ModelSteps &other, int64_t groups);

  std::optional<PlanningProblem> extract(int64_t count, int64_t samples) const;

  FrontendOptions options;
  std::optional<PlanningProblem> known;
  int64_t globalBatch;
  /// Empty: the model has so many samples as it has.
  std::string batchSymbol;
  ScaledProblem scaled;
  /// With other groups of experts, by their number.
  std::map<int64_t, std::unique_ptr<ModelSteps>> grouped;
};

} // namespace parplan

#endif // PARPLAN_DRIVER_MODELSTEPS_H
