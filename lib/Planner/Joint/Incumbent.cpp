//===- Incumbent.cpp - The best plan so far -------------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Incumbent.h"

#include "parplan/Support/Never.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <utility>

using namespace parplan;

double Incumbent::getBest() const {
  return result.plan ? result.plan->evaluation.stepTimeSeconds : never;
}

bool Incumbent::isOver(double seconds) const {
  if (options.stop && options.stop->load())
    return true;
  std::chrono::duration<double> used = Clock::now() - start;
  if (!result.plan)
    seconds =
        std::max(seconds * options.shareWithoutPlan, options.patienceSeconds);
  return used.count() > seconds;
}

bool Incumbent::keepBetter(JudgedPlan plan,
                           const Configuration &configuration) {
  if (plan.evaluation.stepTimeSeconds >= getBest())
    return false;
  result.plan = std::move(plan);
  result.configuration = configuration;
  if (!llvm::is_contained(trail, configuration))
    trail.push_back(configuration);
  return true;
}
