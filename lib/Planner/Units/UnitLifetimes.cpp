//===- UnitLifetimes.cpp - How long values of a unit stay -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitLifetimes.h"

#include "PhaseComponents.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;

using Part = StepUnits::Part;

double UnitLifetimes::countWaiting(int value) const {
  const UnitSample::Value &inUnit = sample.values[value];
  bool isMade = inUnit.maker >= 0;
  if (sample.problem.values[value].kind != ValueKind::activation ||
      isSum(value) ||
      (isMade && sample.phases[inUnit.maker] > Phase::inputGradient))
    return 0;
  // Where it is read in another unit, too, it is that unit that keeps it.
  bool isCrossing = inUnit.part == Part::before || inUnit.part == Part::behind;
  bool isKeptElsewhere = isMade && isCrossing && inUnit.isReadBackwardElsewhere;
  // What comes from elsewhere comes before the first pass that reads it.
  bool isThere =
      isMade || llvm::any_of(runs.readsOf[value], [](const UnitRead &read) {
        return read.phase <= Phase::inputGradient;
      });
  auto isReadLast = [&](llvm::ArrayRef<UnitRead> reads) {
    return !mayBeFused(value, reads) &&
           llvm::any_of(reads, [](const UnitRead &read) {
             return read.phase == Phase::weightGradient;
           });
  };
  return (isReadLast(runs.readsOf[value]) && isThere && !isKeptElsewhere ? 1
                                                                         : 0) +
         (isReadLast(runs.remadeReadsOf[value]) ? 1 : 0);
}

bool UnitLifetimes::mayBeFused(int value,
                               llvm::ArrayRef<UnitRead> reads) const {
  int most = sample.values[value].mostFusedReads;
  return most > 0 && reads.size() <= static_cast<size_t>(most);
}

bool UnitLifetimes::isSum(int value) const {
  int maker = sample.values[value].maker;
  return maker >= 0 && sample.problem.microBatches > 1 &&
         sample.problem.ops[maker].accumulates;
}

std::pair<int, double> UnitLifetimes::getLifetime(int value) const {
  const PlanningValue &description = sample.problem.values[value];
  const UnitSample::Value &inUnit = sample.values[value];
  const PlanningOp *maker =
      inUnit.maker < 0 ? nullptr : &sample.problem.ops[inUnit.maker];
  auto batches = static_cast<double>(sample.problem.microBatches);
  // Counted where it is made.
  if (isSum(value))
    return {permanent, 0};
  if (mayBeFused(value, runs.readsOf[value]))
    return {saved, 0};
  if (description.isOutput && maker && maker->perMicroBatch &&
      sample.problem.microBatches > 1)
    return {permanent, batches};
  if (maker && !maker->perMicroBatch && !maker->accumulates &&
      sample.phases[inUnit.maker] == Phase::start)
    return {permanent, 1};
  // Where it is read in another unit, it is that unit that keeps it.
  bool isKeptElsewhere =
      inUnit.part == Part::behind && inUnit.isReadBackwardElsewhere;
  bool isMadeForward =
      maker ? sample.phases[inUnit.maker] <= Phase::forward
            : inUnit.part == Part::before &&
                  llvm::any_of(runs.readsOf[value], [](const UnitRead &read) {
                    return read.phase <= Phase::forward;
                  });
  bool isReadLater =
      (inUnit.part == Part::shared && inUnit.isReadBackwardElsewhere) ||
      llvm::any_of(runs.readsOf[value], [](const UnitRead &read) {
        return read.phase > Phase::forward;
      });
  return {saved, isMadeForward && isReadLater && !isKeptElsewhere ? 1.0 : 0};
}
