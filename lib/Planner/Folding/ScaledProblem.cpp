//===- ScaledProblem.cpp - Steps of any number of micro-batches -----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/ScaledProblem.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <future>
#include <tuple>
#include <utility>

using namespace parplan;

/// Of micro-batches from which all others follow. A single sample is another
/// step.
static constexpr int64_t firstSamples = 2, secondSamples = 3;
/// Of a step in which micro-batches are summed.
static constexpr int64_t someMicroBatches = 2;

ScaledProblem::ScaledProblem(int64_t globalBatch, std::vector<int64_t> counts,
                             bool isFree, Extract extract)
    : globalBatch(globalBatch), counts(std::move(counts)), isFree(isFree),
      extract(std::move(extract)) {}

/// The steps from which all others follow, as numbers of micro-batches and of
/// their samples.
std::vector<std::pair<int64_t, int64_t>> ScaledProblem::getBases() const {
  if (isFree)
    return {{someMicroBatches, firstSamples},
            {someMicroBatches, secondSamples}};
  // The smallest.
  std::vector<std::pair<int64_t, int64_t>> bases;
  for (int64_t count : llvm::reverse(counts))
    if (count > 1 && getSamples(count) >= firstSamples && bases.size() < 2)
      bases.push_back({count, getSamples(count)});
  return bases;
}

void ScaledProblem::prepare() {
  isPrepared = true;
  std::vector<std::pair<int64_t, int64_t>> bases = getBases();
  if (bases.size() < 2) {
    obstacle = "the batch can be cut in too few ways";
    return;
  }
  auto [one, other] = std::pair(bases[0], bases[1]);
  std::future<std::optional<PlanningProblem>> asked =
      std::async(std::launch::async, extract, other.first, other.second);
  std::optional<PlanningProblem> first = extract(one.first, one.second);
  std::optional<PlanningProblem> second = asked.get();
  for (auto &[step, base] : {std::tie(first, one), std::tie(second, other)})
    if (!step) {
      obstacle = "there is no step of " + std::to_string(base.second) +
                 " samples a micro-batch";
      return;
    }
  std::string reason;
  auto made = AffineProblem::make(std::move(*first), one.second, *second,
                                  other.second, reason);
  if (made)
    line = std::make_shared<AffineProblem>(std::move(*made));
  else
    obstacle = reason;
}

std::optional<StepProblem> ScaledProblem::getPart(int64_t count) {
  PARPLAN_CHECK(llvm::is_contained(counts, count),
                "a step of another number of micro-batches: ", count);
  if (!isPrepared)
    prepare();
  int64_t samples = getSamples(count);
  if (!line || count == 1 || !line->isWhole(samples))
    return std::nullopt;
  return StepProblem(line, samples, count);
}

std::optional<StepProblem> ScaledProblem::get(int64_t count) {
  PARPLAN_CHECK(llvm::is_contained(counts, count),
                "a step of another number of micro-batches: ", count);
  if (count > 1 && getSamples(count) >= firstSamples)
    if (std::optional<StepProblem> problem = getPart(count))
      return problem;
  auto [place, isNew] = others.try_emplace(count);
  if (isNew)
    if (auto problem = extract(count, getSamples(count)))
      place->second = std::move(*problem);
  return place->second;
}
