//===- AffineProblem.cpp - Problems that differ in sizes alone ------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/AffineProblem.h"

#include "parplan/Planner/ProblemFile.h"
#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>
#include <tuple>
#include <utility>

using namespace parplan;

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
  for (const Growth &growth : made.growths)
    if (growth.place == Place::shape &&
        (one.values[growth.entry].kind == ValueKind::parameter ||
         one.values[growth.entry].kind == ValueKind::state)) {
      reason =
          "'" + one.values[growth.entry].name + "' is a variable and grows";
      return std::nullopt;
    }
  made.base = std::move(one);
  return made;
}

double AffineProblem::getMore(const Growth &growth, int64_t number) const {
  return growth.difference * static_cast<double>(number - first);
}

bool AffineProblem::isWhole(int64_t number) const {
  return llvm::all_of(growths, [&](const Growth &growth) {
    return std::fmod(getMore(growth, number), static_cast<double>(distance)) ==
           0;
  });
}

std::optional<PlanningProblem> AffineProblem::get(int64_t number) const {
  if (!isWhole(number))
    return std::nullopt;
  PlanningProblem problem = base;
  auto grow = [&](auto &size, const Growth &growth) {
    size += static_cast<std::remove_reference_t<decltype(size)>>(
        getMore(growth, number) / static_cast<double>(distance));
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
  return problem;
}

llvm::ArrayRef<AffineProblem::Growth>
AffineProblem::getGrowths(bool isOfValue, int entry) const {
  auto getKey = [](const Growth &growth) {
    return std::pair(growth.place != Place::shape, growth.entry);
  };
  std::pair wanted(!isOfValue, entry);
  const auto *begin =
      llvm::partition_point(llvm::ArrayRef(growths), [&](const Growth &growth) {
        return getKey(growth) < wanted;
      });
  const auto *end = begin;
  while (end != growths.data() + growths.size() && getKey(*end) == wanted)
    ++end;
  return {begin, end};
}

std::vector<int64_t> AffineProblem::getLabels() const {
  using Sizes = std::vector<std::tuple<Place, int, double>>;
  std::map<Sizes, int64_t> known;
  auto number = [&](bool isOfValue, size_t entry) {
    Sizes sizes;
    for (const Growth &growth : getGrowths(isOfValue, static_cast<int>(entry)))
      sizes.emplace_back(growth.place, growth.position, growth.difference);
    return known.try_emplace(std::move(sizes), known.size()).first->second;
  };
  std::vector<int64_t> ofValues;
  for (size_t value = 0; value < base.values.size(); ++value)
    ofValues.push_back(number(/*isOfValue=*/true, value));
  std::map<std::vector<int64_t>, int64_t> labelOf;
  std::vector<int64_t> labels;
  for (auto [index, op] : llvm::enumerate(base.ops)) {
    std::vector<int64_t> key = {number(/*isOfValue=*/false, index)};
    for (int operand : op.operands)
      key.push_back(ofValues[operand]);
    for (int result : op.results)
      key.push_back(ofValues[result]);
    labels.push_back(
        labelOf.try_emplace(std::move(key), labelOf.size()).first->second);
  }
  return labels;
}

AffineProblem AffineProblem::select(PlanningProblem part,
                                    llvm::ArrayRef<int> values,
                                    llvm::ArrayRef<int> ops) const {
  PARPLAN_CHECK(values.size() == part.values.size() &&
                    ops.size() == part.ops.size(),
                "every value and op of a part is one of the whole");
  AffineProblem selected;
  selected.base = std::move(part);
  selected.first = first;
  selected.distance = distance;
  for (bool isOfValue : {true, false})
    for (auto [number, entry] : llvm::enumerate(isOfValue ? values : ops))
      for (Growth growth : getGrowths(isOfValue, entry)) {
        growth.entry = static_cast<int>(number);
        selected.growths.push_back(growth);
      }
  return selected;
}
