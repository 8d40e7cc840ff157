//===- Instance.h - Small planning problems at random -----------*- C++ -*-===//

#ifndef PARPLAN_BENCHMARKS_SMALL_INSTANCE_H
#define PARPLAN_BENCHMARKS_SMALL_INSTANCE_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/Solver.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace parplan::small {

/// Numbers that depend on the seed alone.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  int64_t pickBelow(int64_t count) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(count));
  }
  bool flip() { return pickBelow(2) == 0; }
  int64_t pick(llvm::ArrayRef<int64_t> numbers) {
    return numbers[pickBelow(static_cast<int64_t>(numbers.size()))];
  }

private:
  std::mt19937_64 engine;
};

/// Which search an instance is for, and so what its plans may have.
enum class Searched {
  /// `solve`: meshes and layouts.
  layouts,
  /// `findPlan`: also numbers of micro-batches, schedules, cuts between units,
  /// and per unit what is made again.
  jointly,
  /// `findLastResort`: also cuts between any two ops, and per value what is
  /// made again, waits on the host or rests there.
  lastResorts,
};

struct Instance {
  Searched searched = Searched::layouts;
  /// What it has, for the table.
  std::vector<std::string> features;
  /// By the number of micro-batches; all but `jointly` have one.
  std::map<int64_t, PlanningProblem> steps;
  /// Without a limit on memory.
  PlanRequest request;
  std::shared_ptr<const PlanCosts> costs;
};

Instance drawInstance(uint64_t seed);

/// Costs of so many devices: simple ones, or those of a preset whose rates,
/// nodes and devices are changed at random. Adds to the features and sets the
/// devices of a node.
void drawCosts(Random &random, Instance &instance);

} // namespace parplan::small

#endif // PARPLAN_BENCHMARKS_SMALL_INSTANCE_H
