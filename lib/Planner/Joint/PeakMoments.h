//===- PeakMoments.h - When positions have most bytes -----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PEAKMOMENTS_H
#define PARPLAN_LIB_PLANNER_PEAKMOMENTS_H

#include "parplan/Pipeline/Schedule.h"
#include "parplan/Planner/BlockOracle.h"

namespace parplan {

/// Per chunk the micro-batches of a position that wait for their backward pass,
/// and those that wait for their weight gradients; or the mean of several
/// moments, of which a position has no fewer bytes at one.
struct Moment {
  std::vector<double> inFlight, waiting;

  /// What units of a chunk have then.
  double getBytes(size_t chunk, const CostVector &cost) const {
    return cost.permanentBytes + inFlight[chunk] * cost.savedBytes +
           waiting[chunk] * cost.waitingBytes;
  }
  /// What all units have, with the sums of each chunk.
  double getBytes(const std::vector<CostVector> &chunks) const {
    double bytes = 0;
    for (size_t chunk = 0; chunk < chunks.size(); ++chunk)
      bytes += getBytes(chunk, chunks[chunk]);
    return bytes;
  }
  bool operator==(const Moment &other) const = default;
};

/// Before its first backward pass a position has that many in flight, whatever
/// the times.
Moment getFirstBackward(const ScheduleShape &shape, int64_t position);

/// The moment of each position at which it has most bytes, by what its stages
/// have of each micro-batch.
std::vector<Moment> findPeakMoments(const PipelineSchedule &schedule,
                                    const std::vector<CostVector> &ofStages);

/// The mean of `count` moments becomes that of one more.
void addToMean(Moment &mean, const Moment &moment, int64_t count);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PEAKMOMENTS_H
