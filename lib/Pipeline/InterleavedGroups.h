//===- InterleavedGroups.h - Micro-batches that go together -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PIPELINE_INTERLEAVEDGROUPS_H
#define PARPLAN_LIB_PIPELINE_INTERLEAVEDGROUPS_H

#include "parplan/Pipeline/Schedule.h"

namespace parplan {

/// Sizes of the groups of micro-batches that visit all chunks in turn: as many
/// groups of at least p as there can be, of nearly equal size, larger ones
/// first. A short last group (p, p, .., rest) deadlocks for many shapes.
std::vector<int64_t> getInterleavedGroups(const ScheduleShape &shape);

} // namespace parplan

#endif // PARPLAN_LIB_PIPELINE_INTERLEAVEDGROUPS_H
