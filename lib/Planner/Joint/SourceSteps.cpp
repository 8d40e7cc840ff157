//===- SourceSteps.cpp - Steps by their micro-batches ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "SourceSteps.h"

#include "llvm/ADT/STLExtras.h"

#include <condition_variable>

using namespace parplan;

SourceSteps::SourceSteps(const StepProblems &problems,
                         const PlanRequest &request, const PlanCosts &costs,
                         Background &background)
    : problems(problems), request(request), costs(costs) {
  for (auto &&[count, step] :
       llvm::zip_equal(problems.counts, makeAll(background))) {
    if (!step)
      continue;
    if (step->refusal) {
      if (!llvm::is_contained(refusals, *step->refusal))
        refusals.push_back(*step->refusal);
      continue;
    }
    counts.push_back(count);
    steps[count] = std::move(step);
  }
}

/// Whoever begins first gives one step after the other.
std::vector<std::unique_ptr<SourceStep>>
SourceSteps::makeAll(Background &background) {
  size_t stepCount = problems.counts.size();
  std::vector<std::optional<StepProblem>> given(stepCount);
  std::vector<std::unique_ptr<SourceStep>> made(stepCount);
  std::mutex lock;
  std::condition_variable isGiven;
  size_t givenCount = 0;
  auto giveAll = [&] {
    for (auto [problem, count] : llvm::zip_equal(given, problems.counts)) {
      problem = problems.get(count);
      std::lock_guard guard(lock);
      ++givenCount;
      isGiven.notify_all();
    }
  };
  auto makeOne = [&](size_t number) {
    {
      std::unique_lock guard(lock);
      isGiven.wait(guard, [&] { return givenCount > number; });
    }
    if (given[number])
      made[number] = make(*given[number]);
  };
  background.forEach(stepCount + 1, [&](size_t number) {
    if (number == 0)
      giveAll();
    else
      makeOne(number - 1);
  });
  return made;
}

/// Steps on a line share its units, which the first one finds.
std::unique_ptr<SourceStep> SourceSteps::make(const StepProblem &problem) {
  const UnitLine *line = nullptr;
  if (problem.getLine()) {
    std::lock_guard guard(findingUnits);
    std::shared_ptr<const UnitLine> &known = lines[problem.getLine()];
    if (!known)
      known = makeUnitLine(problem.getLine());
    line = known.get();
  }
  return std::make_unique<SourceStep>(problem, line, request, costs);
}

SourceStep *SourceSteps::get(int64_t count) const {
  auto step = steps.find(count);
  return step == steps.end() ? nullptr : step->second.get();
}

SourceStep *SourceSteps::getPart(int64_t count) {
  if (SourceStep *step = get(count); step && step->batch > 1)
    return step;
  auto [it, isNew] = parts.try_emplace(count);
  const auto &known = problems.parts;
  if (isNew && known && llvm::is_contained(known->counts, count))
    if (std::optional<StepProblem> problem = known->get(count))
      it->second = make(*problem);
  SourceStep *step = it->second.get();
  return step && !step->refusal ? step : nullptr;
}
