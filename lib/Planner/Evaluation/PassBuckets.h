//===- PassBuckets.h - Gradients that passes reduce -------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PASSBUCKETS_H
#define PARPLAN_LIB_PLANNER_PASSBUCKETS_H

#include "StageTimeline.h"

namespace parplan {

/// The gradients of a stage that every pass reduces for itself, since their sum
/// lies in pieces (ZeRO-2). The program does so in buckets: one is there from
/// the first gradient in it until the next one is whole, by when it is reduced.
class PassBuckets {
public:
  /// Of at most so many bytes, unless one gradient has more.
  explicit PassBuckets(int64_t mostBytes) : mostBytes(mostBytes) {}

  /// A gradient that is made at a time of the stage. Times ascend.
  void add(int time, int64_t bytes);

  /// Gives a pass that ends at `last` its buckets.
  void addTo(StageTimeline &timeline, int last) const;

  /// What is still being reduced when the next pass begins.
  int64_t getTrailingBytes() const {
    return buckets.empty() ? 0 : buckets.back().bytes;
  }

private:
  struct Bucket {
    int first, last;
    int64_t bytes;
  };
  int64_t mostBytes;
  std::vector<Bucket> buckets;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PASSBUCKETS_H
