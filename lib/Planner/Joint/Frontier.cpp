//===- Frontier.cpp - What is left of all configurations ------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Frontier.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Never.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace parplan;

void Frontier::add(Node node) {
  nodes.push_back(std::move(node));
  if (nodes.back().bound != never)
    giveBack(nodes.size() - 1);
}

double Frontier::getLeastOpen() const {
  return open.empty() ? never : open.begin()->first;
}

void Frontier::take(size_t number) {
  PARPLAN_CHECK(open.erase({nodes[number].bound, number}) == 1,
                "configuration ", number, " is not open");
}

std::vector<size_t> Frontier::takeBest(double cutoff) {
  // A plan takes as long as several bounds.
  constexpr size_t mostPlans = 4, mostBounds = 4;
  constexpr int mostSeen = 64;
  std::vector<size_t> numbers;
  // By space and number of micro-batches, whether a plan is looked for.
  std::map<std::pair<int, int64_t>, bool> looksForPlan;
  size_t plans = 0;
  int seen = 0;
  for (auto [bound, number] : open) {
    if (bound >= cutoff || seen++ == mostSeen)
      break;
    const Node &node = nodes[number];
    bool isPlan = node.level == BoundLevel::path;
    if (!numbers.empty() &&
        (!needsState(node.level) || (isPlan && plans == mostPlans)))
      continue;
    std::pair<int, int64_t> place = {node.configuration.space,
                                     node.configuration.microBatches};
    auto known = looksForPlan.find(place);
    // Who looks for a plan does nothing else. Without any plan the first one
    // matters, and bounds take long.
    if (known != looksForPlan.end() &&
        (isPlan || known->second || cutoff == never))
      continue;
    if (known == looksForPlan.end()) {
      if (looksForPlan.size() ==
          (plans > 0 ? SpaceStates::mostRecent : mostBounds))
        continue;
      looksForPlan.emplace(place, isPlan);
      plans += isPlan;
    }
    numbers.push_back(number);
    if (!needsState(node.level))
      break;
  }
  for (size_t number : numbers)
    take(number);
  return numbers;
}

void Frontier::raise(size_t number, double bound) {
  Node &node = nodes[number];
  node.bound = std::max(node.bound, bound);
  node.level = getNext(node.level);
}

void Frontier::giveBack(size_t number) {
  PARPLAN_CHECK(open.insert({nodes[number].bound, number}).second,
                "configuration ", number, " is open already");
}

void Frontier::close(double bound, size_t number, bool isCutOff) {
  if (bound == never)
    return;
  cutOff += isCutOff;
  if (bound < closed.first)
    closed = {bound, number};
}

Frontier::LeastBound Frontier::getLeastBound(double planSeconds) const {
  auto [bound, number] = closed;
  if (getLeastOpen() < bound)
    std::tie(bound, number) = *open.begin();
  if (bound >= planSeconds)
    return {planSeconds, nullptr};
  return {bound, &nodes[number].configuration};
}
