//===- ArenaClasses.h - Packings by how long buffers live -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_ARENACLASSES_H
#define PARPLAN_PASSES_SCHEDULE_ARENACLASSES_H

#include "passes/Schedule/ArenaPacking.h"

namespace parplan {

/// Packs programs in which to look at all pairs of buffers takes too long: what
/// lives longest first, in some ways the largest of that, then what comes and
/// goes in the gaps that it leaves. `lifetimes` are sorted by their starts,
/// their sizes multiples of the alignment; `lowerBound` is what any packing
/// needs.
Packing packByClasses(const std::vector<Lifetime> &lifetimes,
                      int64_t lowerBound);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_ARENACLASSES_H
