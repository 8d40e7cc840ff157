//===- UnitModel.cpp - A step as a row of units ---------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitLine.h"
#include "UnitMessages.h"
#include "UnitModelStorage.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>

using namespace parplan;

UnitModel::Storage::Storage(StepProblem given,
                            std::shared_ptr<const StepUnits> givenUnits,
                            UnitSample givenSample)
    : sharedUnits(std::move(givenUnits)), units(*sharedUnits),
      sample(std::move(givenSample)),
      crossingBytes(getCrossingBytes(sample, units)),
      trains(parplan::isTraining(given.getAlike())), step(std::move(given)) {}

const PlanningProblem &UnitModel::Storage::getProblem() const {
  std::call_once(isMade, [&] { problem = step.get(); });
  return *problem;
}

UnitModel::UnitModel(StepProblem step, const UnitLine *line) {
  if (line) {
    PARPLAN_CHECK(step.getLine() == line->steps, "a step of another line");
    std::optional<PlanningProblem> sizes = line->samples.get(step.getSamples());
    PARPLAN_CHECK(sizes, "a part of a step has sizes that are not whole");
    sizes->microBatches = step.getMicroBatches();
    storage =
        std::make_unique<Storage>(std::move(step), line->units,
                                  complete(line->sample, std::move(*sizes)));
    return;
  }
  PARPLAN_CHECK(!step.getLine(), "a step on a line has the units of that");
  const PlanningProblem &problem = step.getAlike();
  auto units =
      std::make_shared<StepUnits>(getStepUnits(problem, foldProblem(problem)));
  UnitSample sample = makeUnitSample(problem, *units);
  storage = std::make_unique<Storage>(std::move(step), std::move(units),
                                      std::move(sample));
}

UnitModel::~UnitModel() = default;

const PlanningProblem &UnitModel::getProblem() const {
  return storage->getProblem();
}

const PlanningProblem &UnitModel::getSample() const {
  return storage->sample.problem;
}

std::vector<int64_t> UnitModel::getSampleCounts() const {
  std::vector<int64_t> counts;
  for (auto [kind, range] :
       llvm::zip_equal(storage->units.kinds, storage->sample.kinds))
    counts.resize(range.endOp, kind.count);
  return counts;
}

bool UnitModel::isTraining() const { return storage->trains; }

int UnitModel::getUnitCount() const {
  return static_cast<int>(storage->units.units.size());
}

int64_t UnitModel::getBlockCount() const {
  const StepUnits &units = storage->units;
  return llvm::count_if(llvm::seq(size_t(0), units.units.size()),
                        [&](size_t number) { return !units.isEnd(number); });
}

const std::vector<int> &UnitModel::getUnitOfOp() const {
  return storage->units.unitOfOp;
}

Meeting UnitModel::getMeeting() const { return storage->units.meeting; }

int64_t UnitModel::getLeastMessageBytes(int64_t ranks) const {
  const StepUnits &units = storage->units;
  std::optional<int64_t> least;
  for (size_t unit = 0; unit + 1 < units.units.size(); ++unit) {
    // What stands at an end is never alone.
    if (units.isEnd(unit) || units.isEnd(unit + 1))
      continue;
    int64_t sum = 0;
    for (int64_t bytes : storage->crossingBytes[unit])
      sum += ceilDivide(bytes, ranks);
    least = std::min(least.value_or(sum), sum);
  }
  return least.value_or(0);
}
