//===- Visits.h - Runs of backward passes of one chunk ----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// A visit of a position to a chunk is a maximal run of passes with gradients of
// weights of that chunk; forward passes in between do not end it. Gradients
// that are kept in pieces can be added up whole in a visit and reduced once at
// its end: fewer bytes, for the memory of one chunk's gradients.
//
//   B0.0 F3.1 B1.0 | B0.1 B1.1 | B2.0     three visits, two of them to chunk 0
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PIPELINE_VISITS_H
#define PARPLAN_PIPELINE_VISITS_H

#include "parplan/Pipeline/Schedule.h"

namespace parplan {

/// Indices into the passes of a position.
struct Visit {
  int64_t chunk = 0;
  /// Those with gradients of weights, ascending; never empty.
  std::vector<int64_t> passes;

  int64_t getFirst() const { return passes.front(); }
  int64_t getLast() const { return passes.back(); }
};

/// The visits of a position, in order.
std::vector<Visit> findVisits(const PipelineSchedule &schedule,
                              int64_t position);

/// How many of them are to a stage.
int64_t countVisits(const PipelineSchedule &schedule, int64_t stage);

} // namespace parplan

#endif // PARPLAN_PIPELINE_VISITS_H
