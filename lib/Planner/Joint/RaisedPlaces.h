//===- RaisedPlaces.h - What positions cost at least, by place --*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_RAISEDPLACES_H
#define PARPLAN_LIB_PLANNER_RAISEDPLACES_H

#include "lib/Planner/Units/UnitChain.h"

#include <map>
#include <vector>

namespace parplan {

/// What was found of positions with some blocks, in each of a few forms of
/// their cost: of what holds another one too, it is no less.
class RaisedPlaces {
public:
  RaisedPlaces(const UnitChain &chain, const ScheduleShape &shape);

  /// By form and number of blocks.
  static constexpr double notRaised = -1;
  using Values = std::vector<std::vector<double>>;

  /// Null: nothing is known of a position with that many blocks per chunk there
  /// or elsewhere, if they are equal.
  const Values *find(int64_t position, int64_t before, int64_t count) const;
  void raise(int64_t position, int64_t before, int64_t count, size_t form,
             size_t formCount, double value);

private:
  /// Places of which, up to equal blocks, the ones with more blocks hold those
  /// with fewer: all that begin with the same block, or that end with the last
  /// one.
  using PlaceClass = int64_t;
  static constexpr PlaceClass toTheEnd = -1;
  PlaceClass getClass(int64_t before, int64_t count) const;

  int64_t perChunk;
  /// Per block of a chunk the first one from which on all are like it, in all
  /// chunks.
  std::vector<int64_t> firstEqual;
  /// Per position.
  std::vector<std::map<PlaceClass, Values>> raised;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_RAISEDPLACES_H
