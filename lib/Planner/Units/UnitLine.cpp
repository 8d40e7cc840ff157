//===- UnitLine.cpp - The units of all steps on a line --------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitLine.h"

using namespace parplan;

std::shared_ptr<const UnitLine>
parplan::makeUnitLine(std::shared_ptr<const AffineProblem> steps) {
  const PlanningProblem &base = steps->getBase();
  FoldingOptions options;
  options.labels = steps->getLabels();
  auto units = std::make_shared<StepUnits>(
      getStepUnits(base, foldProblem(base, options), options.labels));
  UnitSample sample = makeUnitSample(base, *units);
  AffineProblem samples =
      steps->select(std::move(sample.problem), sample.valueOf, sample.opOf);
  return std::make_shared<UnitLine>(UnitLine{std::move(steps), std::move(units),
                                             std::move(sample),
                                             std::move(samples)});
}
