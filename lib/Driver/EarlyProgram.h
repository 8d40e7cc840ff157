//===- EarlyProgram.h - A program that is made beside a search --*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_EARLYPROGRAM_H
#define PARPLAN_DRIVER_EARLYPROGRAM_H

#include "lib/Driver/Backend.h"
#include "parplan/Planner/PlanChoice.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace parplan {

/// A search has its plan long before it has proved how good that is. Meanwhile
/// a thread of its own makes the program of the best plan so far.
class EarlyProgram {
public:
  struct Plan {
    PlanCandidate candidate;
    PlanningAnswer answer;

    bool operator==(const Plan &other) const = default;
  };
  /// Makes a program; nothing after a fault, or where `stop` was set meanwhile.
  /// Until `settle`, nobody else may use what it uses, but for costs, which
  /// lock.
  using Make = std::function<std::optional<LoweredProgram>(
      const Plan &plan, const std::atomic<bool> &stop)>;

  explicit EarlyProgram(Make make) : make(std::move(make)) {}
  ~EarlyProgram() { settle(nullptr); }

  /// Begins with the program of a better plan, and drops others.
  void begin(Plan plan);
  /// Waits for the program of the plan that the search ended with, if that was
  /// begun, and for nothing else.
  void settle(const Plan *found);
  /// Of settled work the program of a plan, once; others are dropped.
  std::optional<LoweredProgram> take(const Plan &plan);

private:
  void work();

  Make make;
  std::thread thread;
  std::mutex mutex;
  /// Next, and being made.
  std::optional<Plan> waiting, current;
  std::atomic<bool> stop = false;
  /// With the plan that it is of.
  using Made = std::pair<Plan, LoweredProgram>;
  std::optional<Made> made;
  bool isWorking = false;
};

} // namespace parplan

#endif // PARPLAN_DRIVER_EARLYPROGRAM_H
