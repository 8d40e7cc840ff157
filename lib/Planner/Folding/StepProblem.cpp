//===- StepProblem.cpp - Steps by the number of micro-batches -------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/StepProblem.h"

#include "parplan/Support/Check.h"

#include <utility>

using namespace parplan;

StepProblem::StepProblem(std::shared_ptr<const AffineProblem> given,
                         int64_t samples, int64_t microBatches)
    : line(std::move(given)), samples(samples), microBatches(microBatches) {
  PARPLAN_CHECK(line->isWhole(samples), "no step of ", samples,
                " samples is on the line");
}

std::shared_ptr<const PlanningProblem> StepProblem::get() const {
  if (!line)
    return whole;
  std::optional<PlanningProblem> problem = line->get(samples);
  problem->microBatches = microBatches;
  return std::make_shared<PlanningProblem>(std::move(*problem));
}
