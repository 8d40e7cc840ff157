//===- ScaledProblem.cpp - Steps of any number of micro-batches -----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/ScaledProblem.h"

#include "parplan/Planner/ProblemFile.h"

#include "parplan/Support/Check.h"

#include <cmath>
#include <future>
#include <tuple>
#include <utility>

using namespace parplan;

/// Of micro-batches from which all others follow. A single sample is another
/// step.
static constexpr int64_t firstSamples = 2, secondSamples = 3;
/// Of a step in which micro-batches are summed.
static constexpr int64_t someMicroBatches = 2;

/// Calls `visit(place, entry, position, size)` for all that may grow, in an
/// order that depends on the structure alone.
template <typename Problem, typename Visit>
void AffineProblem::visitSizes(Problem &problem, Visit visit) {
  for (auto [entry, value] : llvm::enumerate(problem.values))
    for (auto [position, size] : llvm::enumerate(value.shape))
      visit(Place::shape, entry, position, size);
  for (auto [entry, op] : llvm::enumerate(problem.ops)) {
    for (auto [position, factor] : llvm::enumerate(op.rule.factors))
      visit(Place::factor, entry, position, factor.size);
    for (auto [position, term] : llvm::enumerate(op.work.flops))
      visit(Place::flops, entry, position, term.coefficient);
    for (auto [position, term] : llvm::enumerate(op.work.transcendentals))
      visit(Place::transcendentals, entry, position, term.coefficient);
  }
}

std::vector<double> AffineProblem::getSizes(const PlanningProblem &problem) {
  std::vector<double> sizes;
  visitSizes(problem, [&](Place, size_t, size_t, auto size) {
    sizes.push_back(static_cast<double>(size));
  });
  return sizes;
}

void AffineProblem::setSizes(PlanningProblem &problem,
                             const std::vector<double> &sizes) {
  auto next = sizes.begin();
  visitSizes(problem, [&](Place, size_t, size_t, auto &size) {
    size = static_cast<std::remove_reference_t<decltype(size)>>(*next++);
  });
}

std::optional<AffineProblem> AffineProblem::make(PlanningProblem one,
                                                 int64_t first,
                                                 const PlanningProblem &other,
                                                 int64_t second,
                                                 std::string &reason) {
  AffineProblem made;
  made.first = first;
  made.distance = second - first;
  std::vector<double> sizes = getSizes(one), others = getSizes(other);
  others.resize(sizes.size());
  size_t next = 0;
  visitSizes(one, [&](Place place, size_t entry, size_t position, auto size) {
    double difference = others[next++] - static_cast<double>(size);
    if (difference != 0)
      made.growths.push_back({place, static_cast<int>(entry),
                              static_cast<int>(position), difference});
  });
  // With the sizes of the other one, the first one is the other one.
  int64_t microBatches = std::exchange(one.microBatches, other.microBatches);
  setSizes(one, others);
  if (auto difference = findDifference(one, other)) {
    reason = *difference;
    return std::nullopt;
  }
  setSizes(one, sizes);
  one.microBatches = microBatches;
  made.base = std::move(one);
  return made;
}

std::optional<PlanningProblem> AffineProblem::get(int64_t number) const {
  PlanningProblem problem = base;
  bool isWhole = true;
  auto grow = [&](auto &size, const Growth &growth) {
    double more = growth.difference * static_cast<double>(number - first);
    isWhole &= std::fmod(more, static_cast<double>(distance)) == 0;
    size += static_cast<std::remove_reference_t<decltype(size)>>(
        more / static_cast<double>(distance));
  };
  for (const Growth &growth : growths) {
    int position = growth.position;
    if (growth.place == Place::shape) {
      grow(problem.values[growth.entry].shape[position], growth);
      continue;
    }
    PlanningOp &op = problem.ops[growth.entry];
    if (growth.place == Place::factor)
      grow(op.rule.factors[position].size, growth);
    else if (growth.place == Place::flops)
      grow(op.work.flops[position].coefficient, growth);
    else
      grow(op.work.transcendentals[position].coefficient, growth);
  }
  if (!isWhole)
    return std::nullopt;
  return problem;
}

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
  affine = AffineProblem::make(std::move(*first), one.second, *second,
                               other.second, reason);
  if (!affine)
    obstacle = reason;
}

std::optional<PlanningProblem> ScaledProblem::getPart(int64_t count) {
  PARPLAN_CHECK(llvm::is_contained(counts, count),
                "a step of another number of micro-batches: ", count);
  if (!isPrepared)
    prepare();
  std::optional<PlanningProblem> problem;
  if (affine && count > 1)
    problem = affine->get(getSamples(count));
  if (problem)
    problem->microBatches = count;
  return problem;
}

std::optional<PlanningProblem> ScaledProblem::get(int64_t count) {
  PARPLAN_CHECK(llvm::is_contained(counts, count),
                "a step of another number of micro-batches: ", count);
  if (count > 1 && getSamples(count) >= firstSamples)
    if (std::optional<PlanningProblem> problem = getPart(count))
      return problem;
  auto [place, isNew] = others.try_emplace(count);
  if (isNew)
    place->second = extract(count, getSamples(count));
  return place->second;
}
