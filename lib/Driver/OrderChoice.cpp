//===- OrderChoice.cpp - Which of several orders is taken -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/OrderChoice.h"

#include "parplan/Support/Text.h"

#include <algorithm>
#include <cmath>

using namespace parplan;

bool OrderChoice::addPlan(int64_t zigzag, double seconds, double boundSeconds) {
  if (zigzag > 1 && seconds < bestZigzagSeconds) {
    bestZigzag = zigzag;
    bestZigzagSeconds = seconds;
  }
  // Sums in another order differ in their last digits.
  bool isEqual = std::abs(seconds - bestSeconds) <= 1e-9 * seconds;
  bool isBetter = isEqual ? best == 1 && zigzag > 1 : seconds < bestSeconds;
  othersBound = std::min(othersBound, isBetter ? bestBound : boundSeconds);
  if (!isBetter)
    return false;
  best = zigzag;
  bestSeconds = seconds;
  bestBound = boundSeconds;
  return true;
}

void OrderChoice::addLack(double boundSeconds) {
  othersBound = std::min(othersBound, boundSeconds);
}

void OrderChoice::addObstacle(const std::string &text) {
  if (obstacle.empty())
    obstacle = text;
}

SequenceSummary OrderChoice::getOrder() const {
  if (best > 1)
    return {best, ""};
  if (bestZigzag > 1)
    return {1, "in zig-zag order over " + std::to_string(bestZigzag) +
                   " ranks a step would take " +
                   formatSeconds(bestZigzagSeconds)};
  return {1,
          obstacle.empty() ? "no plan with another order was found" : obstacle};
}
