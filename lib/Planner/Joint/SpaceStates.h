//===- SpaceStates.h - What is known of the spaces of a source --*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_SPACESTATES_H
#define PARPLAN_LIB_PLANNER_SPACESTATES_H

#include "LeastSpace.h"
#include "SpaceState.h"

#include "parplan/Planner/SpaceSearch.h"

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace parplan {

/// The states of the spaces of a source, made when they are first asked for and
/// kept for later searches.
class SpaceStates {
public:
  explicit SpaceStates(SpaceSource &source) : source(source) {}

  /// Of a rank, for all that is asked from here on.
  void setMemoryLimit(double bytes, double spare);

  /// So many states that were asked last keep what makes answers sooner.
  static constexpr size_t mostRecent = 12;
  /// Null: the space is impossible.
  SpaceState *get(const Configuration &configuration);

  /// See `SpaceSource`; nothing is begun twice. False: nothing more is begun
  /// now.
  bool prepare(const Configuration &configuration, SpaceSource::Next next);
  void prepareLater(const Configuration &configuration, SpaceSource::Next next);

  /// What is known of a space before there is a model. Null: it is impossible.
  struct Least {
    std::unique_ptr<SpaceState> state;
    CostVector sum;
  };
  /// Of all spaces alike, or of the one.
  Least &getLeast(const Configuration &configuration, bool isOwn);

  /// What bounds the space, without plans. Null: there is none.
  SpaceState *getRelaxed(const Configuration &configuration, bool isOfKnown);

  /// See `makeOfVariables`. Null: there is none, or it says little, because
  /// variables fit anyway or there is a model.
  SpaceState *getOfVariables(const Configuration &configuration);

  /// Cut into more micro-batches, the busiest position works hardly less: where
  /// it works too long with a number of them that divides this one, the model
  /// for this one need not be made.
  bool isTooLongWithFewer(const Configuration &configuration, double cutoff);

  /// Questions that oracles were asked.
  int64_t getCallCount() const;

private:
  bool saysOfVariables(const Configuration &configuration) const;
  bool isKnown(const Configuration &configuration,
               SpaceSource::Next next) const;
  void noteUse(SpaceState *state);
  std::unique_ptr<SpaceState> makeState(std::unique_ptr<SpaceModel> model,
                                        const Configuration &configuration);

  SpaceSource &source;
  double memoryLimitBytes = std::numeric_limits<double>::infinity();
  double spareBytes = 0;
  std::map<std::tuple<int, int64_t, bool>, Least> leasts;
  /// By space and number of micro-batches.
  std::map<std::pair<int, int64_t>, std::unique_ptr<SpaceState>> states,
      ofVariables;
  /// By whether they are of what was known when they were asked for.
  std::map<std::pair<int, int64_t>, std::unique_ptr<SpaceState>> relaxed[2];
  /// What was begun, by space and number of micro-batches.
  std::set<std::tuple<int, int64_t, SpaceSource::Next>> prepared;
  /// Those that were asked last, the last one behind.
  std::vector<SpaceState *> recent;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_SPACESTATES_H
