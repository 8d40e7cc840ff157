//===- PassBuckets.cpp - Gradients that passes reduce ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PassBuckets.h"

using namespace parplan;

void PassBuckets::add(int time, int64_t bytes) {
  if (buckets.empty() || buckets.back().bytes + bytes > mostBytes)
    buckets.push_back({time, time, 0});
  buckets.back().last = time;
  buckets.back().bytes += bytes;
}

void PassBuckets::addTo(StageTimeline &timeline, int last) const {
  for (size_t index = 0; index < buckets.size(); ++index)
    timeline.add(buckets[index].first,
                 index + 1 < buckets.size() ? buckets[index + 1].last : last,
                 buckets[index].bytes, /*isGradient=*/true);
}
