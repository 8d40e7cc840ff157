//===- UnitMixes.h - Plans of equal units, and sums of them -----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITMIXES_H
#define PARPLAN_LIB_PLANNER_UNITMIXES_H

#include "parplan/Planner/BlockOracle.h"

#include "llvm/ADT/ArrayRef.h"

#include <utility>

namespace parplan {

/// A plan that a unit may have, which stays; what it costs, keeps, and needs
/// for a pass.
struct UnitCandidate {
  const BlockPlan *plan = nullptr;
  double cost = 0, bytes = 0, workBytes = 0;
};

/// So many of each of some candidates.
struct UnitMix {
  double cost = 0, bytes = 0;
  std::vector<std::pair<const BlockPlan *, int64_t>> parts;
};

/// For so many equal units the mixes that cost less than all that are no
/// larger, dearer ones behind: of few units every one, of many those of at most
/// three candidates; evenly thinned where these are very many.
std::vector<UnitMix> mixUnits(llvm::ArrayRef<UnitCandidate> candidates,
                              int64_t count);

/// A mix of each group, by number.
struct MixSum {
  double cost = 0, bytes = 0;
  std::vector<size_t> chosen;
};

/// The cheapest sum of mixes of all groups, one at least, that is small enough.
/// Nullopt: none is.
std::optional<MixSum> findCheapest(llvm::ArrayRef<std::vector<UnitMix>> groups,
                                   double mostBytes);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITMIXES_H
