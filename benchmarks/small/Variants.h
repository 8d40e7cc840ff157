//===- Variants.h - What plans may have besides layouts ---------*- C++ -*-===//

#ifndef PARPLAN_BENCHMARKS_SMALL_VARIANTS_H
#define PARPLAN_BENCHMARKS_SMALL_VARIANTS_H

#include "Instance.h"

#include "parplan/Planner/PlanningAnswer.h"

namespace parplan::small {

/// What is made again, and on which tier values rest.
struct Variant {
  std::vector<bool> recomputed, gathersAgain;
  std::vector<MemoryTier> tiers;
  /// What is updated in pieces off the device rests in them.
  bool restsInPieces = false;

  void apply(const PlanningProblem &problem, PlanningAnswer &answer) const;
};

/// Everything kept; for training steps of a joint search every mode of every
/// unit, and every set of updates on the host if they may be there; as last
/// resorts every set of ops that are made again, of activations that wait on
/// the host and of variables that rest there. Nullopt: more than `most`.
std::optional<std::vector<Variant>> getVariants(const PlanningProblem &problem,
                                                const Instance &instance,
                                                size_t most);

} // namespace parplan::small

#endif // PARPLAN_BENCHMARKS_SMALL_VARIANTS_H
