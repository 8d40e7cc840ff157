//===- WaitingBound.cpp - What waiting weight gradients save --------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "WaitingBound.h"

#include "parplan/Planner/ScheduleBounds.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace parplan;

double WaitingBound::getLeast(int64_t position, PositionPart part,
                              int64_t fewest, int64_t most, double enough) {
  WaitingCounts counts = countWaiting(shape, position, most);
  for (size_t chunk = 0; chunk < part.weights.size(); ++chunk)
    part.weights[chunk].weightGradient =
        static_cast<double>(counts.done[chunk]) /
        static_cast<double>(shape.microBatches);
  double least = dual.solve(part, freeBytes, enough).value;
  if (least >= enough)
    return least;
  part.moment.inFlight.assign(part.moment.inFlight.size(), 0);
  std::vector<int64_t> waiting = countWaiting(shape, position, fewest).waiting;
  part.moment.waiting.assign(waiting.begin(), waiting.end());
  return std::max(least, dual.solve(part, freeBytes, enough).value);
}

double WaitingBound::find(int64_t position, const PositionPart &part,
                          int64_t mostWaiting, double enough, double ignored) {
  // At least one waits: that of the last input gradient.
  int64_t guess = std::clamp<int64_t>(likely, 1, mostWaiting);
  if (getLeast(position, part, guess, guess, enough) <= ignored)
    return 0;
  // Numbers from the first to the second, the cheapest first.
  std::set<std::tuple<double, int64_t, int64_t>> open;
  auto add = [&](int64_t fewest, int64_t most) {
    if (fewest <= most)
      open.emplace(getLeast(position, part, fewest, most, enough), fewest,
                   most);
  };
  add(1, mostWaiting);
  while (true) {
    auto [least, fewest, most] = *open.begin();
    if (fewest == most)
      likely = most;
    if (fewest == most || least >= enough)
      return least;
    open.erase(open.begin());
    int64_t middle = fewest + (most - fewest) / 2;
    add(fewest, middle);
    add(middle + 1, most);
  }
}
