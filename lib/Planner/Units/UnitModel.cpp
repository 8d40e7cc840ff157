//===- UnitModel.cpp - A step as a row of units ---------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "ModelUnits.h"
#include "UnitMessages.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>

using namespace parplan;

static std::shared_ptr<const StepUnits> divide(const PlanningProblem &problem,
                                               llvm::ArrayRef<int64_t> labels) {
  FoldingOptions options;
  options.labels = labels.vec();
  return std::make_shared<StepUnits>(
      getStepUnits(problem, foldProblem(problem, options), labels));
}

std::shared_ptr<const UnitLine>
parplan::makeUnitLine(std::shared_ptr<const AffineProblem> steps) {
  const PlanningProblem &base = steps->getBase();
  auto units = divide(base, steps->getLabels());
  UnitSample sample = makeUnitSample(base, *units);
  std::vector<int> values, ops;
  for (const StepUnits::Kind &kind : units->kinds) {
    const StepUnits::Unit &unit = units->units[kind.representative];
    llvm::append_range(values, unit.values);
    llvm::append_range(ops, unit.ops);
  }
  AffineProblem samples = steps->select(sample.problem, values, ops);
  return std::make_shared<UnitLine>(UnitLine{std::move(steps), std::move(units),
                                             std::move(sample),
                                             std::move(samples)});
}

UnitModel::Storage::Storage(std::shared_ptr<const StepUnits> units,
                            UnitSample sample, bool trains)
    : sharedUnits(std::move(units)), sample(std::move(sample)),
      units(*sharedUnits),
      crossingBytes(getCrossingBytes(this->sample, this->units)),
      trains(trains) {}

const PlanningProblem &UnitModel::Storage::getProblem() const {
  if (given)
    return *given;
  std::call_once(isMade, [&] { made = step->get(); });
  return *made;
}

UnitModel::UnitModel(const PlanningProblem &problem, const Folding &folding,
                     llvm::ArrayRef<int64_t> labels) {
  auto units =
      std::make_shared<StepUnits>(getStepUnits(problem, folding, labels));
  UnitSample sample = makeUnitSample(problem, *units);
  storage = std::make_unique<Storage>(std::move(units), std::move(sample),
                                      parplan::isTraining(problem));
  storage->given = &problem;
}

UnitModel::UnitModel(StepProblem step, std::shared_ptr<const UnitLine> line) {
  bool trains = parplan::isTraining(step.getAlike());
  if (!line && step.getLine())
    line = makeUnitLine(step.getLine());
  if (line) {
    PARPLAN_CHECK(step.getLine() == line->steps, "a step of another line");
    std::optional<PlanningProblem> sizes = line->samples.get(step.getNumber());
    PARPLAN_CHECK(sizes, "a part of a step has sizes that are not whole");
    sizes->microBatches = step.getMicroBatches();
    storage = std::make_unique<Storage>(
        line->units, resize(line->sample, std::move(*sizes)), trains);
    storage->step = std::move(step);
    return;
  }
  auto units = divide(step.getAlike(), {});
  UnitSample sample = makeUnitSample(step.getAlike(), *units);
  storage =
      std::make_unique<Storage>(std::move(units), std::move(sample), trains);
  storage->step = std::move(step);
  storage->given = &storage->step->getAlike();
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
