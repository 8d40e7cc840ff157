//===- Bounds.cpp - Seconds of a step without simulation ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Pipeline/Timeline.h"

#include "parplan/Support/Check.h"

#include <algorithm>

using namespace parplan;

namespace {

/// Sums over the stages before each stage, and over all of them at the end.
struct Prefixes {
  Prefixes(const ScheduleShape &shape, const StageTimes &times,
           const Latencies &latencies) {
    PARPLAN_CHECK(static_cast<int64_t>(times.size()) == shape.getStageCount(),
                  "times of ", times.size(), " stages, not ",
                  shape.getStageCount());
    for (int64_t stage = 0; stage != shape.getStageCount(); ++stage) {
      forward.push_back(forward.back() + times[stage].forwardSeconds);
      inputGradient.push_back(inputGradient.back() +
                              times[stage].inputGradientSeconds);
      backward.push_back(backward.back() + times[stage].getBackwardSeconds());
      bool isLast = stage + 1 == shape.getStageCount();
      latency.push_back(latency.back() +
                        (isLast ? 0 : latencies.get(shape, stage)));
    }
  }

  std::vector<double> forward{0}, inputGradient{0}, backward{0}, latency{0};
};

/// Steady seconds for one more micro-batch in 1F1B: the worst cycle of waits
/// between two positions, which goes down and back once and holds one
/// micro-batch per position (eager: nearly two).
double getCycleSeconds(const Prefixes &prefix, int64_t count, bool isEager) {
  double worst = 0;
  for (int64_t low = 0; low != count; ++low)
    for (int64_t high = low; high != count; ++high) {
      double work = prefix.forward[high + 1] - prefix.forward[low] +
                    prefix.backward[high + 1] - prefix.backward[low] +
                    2 * (prefix.latency[high] - prefix.latency[low]);
      worst = std::max(worst, work / static_cast<double>(
                                         (isEager ? 2 : 1) * (high - low) + 1));
    }
  return worst;
}

double getLargest(const StageTimes &times,
                  double (*getSeconds)(const PassTimes &)) {
  double largest = 0;
  for (const PassTimes &stage : times)
    largest = std::max(largest, getSeconds(stage));
  return largest;
}

} // namespace

double parplan::getLowerBound(const ScheduleShape &shape,
                              const StageTimes &times,
                              const Latencies &latencies) {
  Prefixes prefix(shape, times, latencies);
  int64_t stages = shape.getStageCount();
  auto batches = static_cast<double>(shape.microBatches);
  bool isSplit = splitsBackward(shape.kind), isBack = hasBackward(shape.kind);
  // What one micro-batch takes: down, back, and its last weight gradient.
  double wayBack =
      isSplit ? prefix.inputGradient[stages] + times[0].weightGradientSeconds
              : prefix.backward[stages];
  double latency = prefix.latency[stages];
  double way =
      prefix.forward[stages] + (isBack ? wayBack + latency : 0) + latency;
  double bound = way;
  for (int64_t position = 0; position != shape.positions; ++position) {
    double forward = 0, backward = 0;
    for (int64_t chunk = 0; chunk != shape.chunks; ++chunk) {
      const PassTimes &stage = times[getStage(shape, position, chunk)];
      forward += stage.forwardSeconds;
      backward += stage.getBackwardSeconds();
    }
    // The first pass of a position is that of its first stage, and unless
    // weight gradients are left, its last one is so too.
    double before = prefix.forward[position] + prefix.latency[position];
    double after = isBack && !isSplit
                       ? prefix.backward[position] + prefix.latency[position]
                       : 0;
    double work = batches * (forward + (isBack ? backward : 0));
    bound = std::max(bound, before + work + after);
    // Forward only ends with the last stages.
    if (!isBack) {
      int64_t last = getStage(shape, position, shape.chunks - 1);
      bound =
          std::max(bound, before + work + prefix.forward[stages] -
                              prefix.forward[last + 1] +
                              prefix.latency[stages] - prefix.latency[last]);
    }
    // 1F1B: after the first backward pass a position runs all others and the
    // forward passes that were not ahead of it.
    bool isAlternating = shape.kind == ScheduleKind::oneForwardOneBackward ||
                         shape.kind == ScheduleKind::oneForwardOneBackwardEager;
    if (isAlternating) {
      auto ahead = static_cast<double>(getInFlightLimit(shape, position));
      bound = std::max(bound, way + (batches - 1) * backward +
                                  (batches - ahead) * forward);
    }
  }
  return bound;
}

std::optional<double> parplan::getUpperBound(const ScheduleShape &shape,
                                             const StageTimes &times,
                                             const Latencies &latencies) {
  Prefixes prefix(shape, times, latencies);
  int64_t stages = shape.getStageCount();
  double latency = prefix.latency[stages];
  double forward = prefix.forward[stages] + latency;
  double both = forward + prefix.backward[stages] + latency;
  auto more = static_cast<double>(shape.microBatches - 1);
  auto getForward = [](const PassTimes &stage) { return stage.forwardSeconds; };
  auto getBackward = [](const PassTimes &stage) {
    return stage.getBackwardSeconds();
  };
  switch (shape.kind) {
  case ScheduleKind::gpipe:
    return both + more * (getLargest(times, getForward) +
                          getLargest(times, getBackward));
  case ScheduleKind::oneForwardOneBackward:
    return both + more * getCycleSeconds(prefix, stages, /*isEager=*/false);
  case ScheduleKind::oneForwardOneBackwardEager:
    return both + more * getCycleSeconds(prefix, stages, /*isEager=*/true);
  case ScheduleKind::forwardOnly:
    if (shape.chunks == 1)
      return forward + more * getLargest(times, getForward);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}
