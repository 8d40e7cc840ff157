//===- SpaceSearch.h - Schedules and meshes, best first ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// One search over all meshes, numbers of micro-batches and schedules of a
// source. A configuration is one of each. Its bound rises level by level, each
// dearer than the one before, and from a good plan on the configuration with
// the least bound is always among the next ones:
//
//   1  the ops and bytes of each unit alone, component by component, within the
//      memory of each position: of all meshes
//   2  the best blocks of a relaxed model, most of which meshes share: first by
//      what is known of a larger one, then its own
//   3  as 1, of the one mesh
//   4  the same with what variables cost, within the memory of each position:
//      where variables do not fit unless ranks that split samples share them
//   5  the best blocks, whatever memory they need
//   6  the best blocks within the memory of each position
//   7  the same by the order of all passes, where times do not change it
//   8  a plan
//
// So most configurations end at a level that takes microseconds, and what is
// left open at the end bounds what could still be found. What closes them is a
// good plan: the search begins with seeds and climbs from them. Then all that
// is open rises to level 4 first.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_SPACESEARCH_H
#define PARPLAN_PLANNER_SPACESEARCH_H

#include "parplan/Planner/SearchModel.h"

#include <atomic>
#include <functional>

namespace parplan {

/// A mesh, a number of micro-batches and a schedule.
struct Configuration {
  int space = 0;
  int64_t microBatches = 1;
  ScheduleShape shape;

  bool operator==(const Configuration &) const = default;
};

struct SpaceSearchProgress {
  /// Infinity: no plan yet.
  double bestSeconds = 0;
  double lowerBoundSeconds = 0;
  int64_t explored = 0;
  int64_t open = 0;
};

struct SpaceSearchOptions {
  /// Configurations within this share of the best plan are not looked at.
  double gap = 0.005;
  /// Bytes of a rank.
  double memoryLimitBytes = std::numeric_limits<double>::infinity();
  /// Left free by plans, unless there is none then: for what a program needs
  /// beyond the sum of what lives at once. Bounds are about all of the memory.
  double spareBytes = 0;
  /// The answer is the best so far, with its bound, when time is over or
  /// somebody sets `stop`.
  double timeBudgetSeconds = std::numeric_limits<double>::infinity();
  /// As long as there is no plan, time is over after that share of it, parts of
  /// the time likewise, but no sooner than after so many seconds.
  double shareWithoutPlan = 1;
  double patienceSeconds = 0;
  const std::atomic<bool> *stop = nullptr;
  std::function<void(const SpaceSearchProgress &)> progress;
  /// Told of the plan that the search goes on to prove, and of better ones that
  /// it finds then.
  std::function<void(const JudgedPlan &, const Configuration &)> likely = {};
};

struct SpaceSearchResult {
  std::optional<JudgedPlan> plan;
  Configuration configuration;
  Certificate certificate;
  /// What the lower bound is the bound of: a configuration, or the plan.
  std::string boundSource;
  /// Its micro-batches and positions; 0: the bound is that of the plan.
  int64_t boundMicroBatches = 0, boundPositions = 0;
  /// Bounds that were worked out, of any level; plans that were judged.
  int64_t evaluations = 0, plans = 0, oracleCalls = 0;
  /// The least that any plan exceeds the memory by, of those that were made.
  int64_t leastExcessBytes = std::numeric_limits<int64_t>::max();
  /// Why plans were refused otherwise, each reason once.
  std::vector<std::string> refusals;
  /// Time was over, or the search stopped, before it ended.
  bool isCutShort = false;
};

class SpaceStates;

/// Searches of one source, which stays: later ones know what earlier ones were
/// told, and begin with what had their best plans.
class SpaceSearch {
public:
  explicit SpaceSearch(SpaceSource &source);
  ~SpaceSearch();

  SpaceSearchResult run(const SpaceSearchOptions &options);

private:
  /// Bounds within more memory are bounds within less.
  void keepBound(double memoryLimitBytes, SpaceSearchResult &result);

  SpaceSource &source;
  std::unique_ptr<SpaceStates> states;
  /// Of the best plans of all searches, one after the other.
  std::vector<Configuration> trail;
  /// The highest bound of a configuration so far, and within what memory.
  struct Bound {
    double seconds = 0, memoryLimitBytes = 0;
    std::string source;
    int64_t microBatches = 0, positions = 0;
  };
  Bound known;
};

SpaceSearchResult searchSpaces(SpaceSource &source,
                               const SpaceSearchOptions &options);

} // namespace parplan

#endif // PARPLAN_PLANNER_SPACESEARCH_H
