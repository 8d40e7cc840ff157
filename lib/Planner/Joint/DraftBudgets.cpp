//===- DraftBudgets.cpp - What a draft may have ---------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "DraftBudgets.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace parplan;

/// What a position may have to spare, as a share of its memory.
static constexpr double nearlyFull = 0.01;

double DraftBudgets::getLeftOut(const Plan &plan, size_t position) const {
  const Position &of = plan[position];
  bool isFilled = hasRoom && of.excessBytes <= 0;
  const Moment &moment = isFilled ? of.peak : limits.moments[position];
  return of.excessBytes + freeBytes - moment.getBytes(of.chunks) - of.workBytes;
}

double DraftBudgets::getMostLeftOut(size_t position) const {
  // Passes may need less than it seems, but no less than nothing.
  double most = -std::numeric_limits<double>::infinity();
  for (const Plan &plan : plans)
    most =
        std::max({most, getLeftOut(plan, position), -plan[position].workBytes});
  return most;
}

void DraftBudgets::setBudgets() {
  for (size_t position = 0; position < limits.budgets.size(); ++position)
    limits.budgets[position] = freeBytes - share * getMostLeftOut(position);
}

bool DraftBudgets::learn(Plan plan) {
  // With the one that budgets began with.
  auto count = static_cast<int64_t>(plans.size()) + 1;
  for (auto [moment, position] : llvm::zip_equal(limits.moments, plan))
    addToMean(moment, position.peak, count);
  plans.push_back(std::move(plan));
  const Plan &last = plans.back();
  if (llvm::any_of(last, [](const Position &position) {
        return position.excessBytes > 0;
      })) {
    if (tooMuch > 0) {
      tooLittle = share;
      share = (tooLittle + tooMuch) / 2;
    }
    setBudgets();
    return true;
  }
  bool mayGain = false;
  for (auto [number, position] : llvm::enumerate(last)) {
    if (!position.isLimited)
      continue;
    double &budget = limits.budgets[number];
    double used =
        limits.moments[number].getBytes(position.chunks) + position.workBytes;
    budget = std::max(budget, used - (1 - nearlyFull) * position.excessBytes);
    mayGain |= position.excessBytes < -nearlyFull * freeBytes;
  }
  return mayGain;
}

bool DraftBudgets::relax() {
  constexpr double nearby = 0.1;
  if (plans.empty())
    return false;
  tooMuch = share;
  if (tooMuch - tooLittle < nearby)
    return false;
  share = (tooLittle + tooMuch) / 2;
  setBudgets();
  return true;
}
