//===- StageMix.h - The plans of the units of a position --------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_STAGEMIX_H
#define PARPLAN_LIB_PLANNER_STAGEMIX_H

#include "MemoryDual.h"
#include "UnitMixes.h"

namespace parplan {

/// The states before and behind every unit of a chain.
struct ChainStates {
  std::vector<int> in, out;

  bool operator==(const ChainStates &other) const = default;
};

/// Plans for the units of a position that fit together. They are owned by the
/// oracles that were asked.
struct StageMix {
  /// Per chunk, unit by unit.
  std::vector<std::vector<const BlockPlan *>> plans;
  double weighted = 0;
  /// Those of all units at the moment of the position.
  double bytes = 0;
  /// What a backward pass needs beside these at most: behind the unit that it
  /// has come to, nothing is saved any more. What waits there for gradients of
  /// weights is limited by rooms (`DraftEstimator`).
  double workBytes = 0;
};

/// Finds the cheapest plans of a position that fit. Equal units have at most
/// three different plans (few units: any), of those that are best for some
/// price per byte or smallest in some mode.
class StageMixer {
public:
  StageMixer(const UnitChain &chain, AskedOracles &oracles,
             const MemoryDual &dual)
      : chain(chain), oracles(oracles), dual(dual) {}

  /// Adds to the plans that units may have: `prices` per byte, near the best
  /// one of the position.
  void collect(const PositionPart &part, const ChainStates &states,
               const std::vector<double> &prices);

  /// Adds the plans that are best for prices at which all in these states just
  /// fit: less memory does for each unit alone than for all of them beside each
  /// other. The one that was tried last, 0: none; nullopt: the smallest plans
  /// do not fit. `countsWork` as of `find`.
  std::optional<double> collectFitting(const PositionPart &part,
                                       const ChainStates &states,
                                       double freeBytes, bool countsWork);

  /// Of the plans that were collected for whatever positions. Nullopt: nothing
  /// was found to fit. What passes need is left free, or not counted at all.
  std::optional<StageMix> find(const PositionPart &part,
                               const ChainStates &states, double freeBytes,
                               bool countsWork) const;

private:
  /// Units with the same candidates.
  struct Group {
    int type = 0, in = 0, out = 0;
    size_t chunk = 0;
    std::vector<int> units;
  };
  std::vector<Group> getGroups(const PositionPart &part,
                               const ChainStates &states) const;
  struct Collected {
    const BlockPlan *plan;
    double workBytes;
  };
  /// Nullopt: there is none.
  std::optional<Collected> collect(const Group &group, const Weights &weights,
                                   ModeSet modes);
  using Candidates = std::vector<std::vector<UnitCandidate>>;
  std::vector<UnitCandidate> getCandidates(const Group &group,
                                           const PositionPart &part) const;
  /// A mix, and which unit's pass needs most.
  struct Within {
    StageMix mix;
    size_t group = 0;
    double mostWork = 0;
  };
  /// The cheapest within so many bytes, whatever passes need.
  static std::optional<Within> findWithin(const PositionPart &part,
                                          const std::vector<Group> &groups,
                                          const Candidates &candidates,
                                          double freeBytes);

  const UnitChain &chain;
  AskedOracles &oracles;
  const MemoryDual &dual;
  /// By type and states.
  std::map<std::array<int, 3>, std::vector<Collected>> collected;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_STAGEMIX_H
