//===- WaysOut.h - Why nothing fits, and what would -------------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_WAYSOUT_H
#define PARPLAN_DRIVER_WAYSOUT_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

/// What a plan is asked for, as far as it can be changed.
struct NearRequest {
  /// Entries of `--force`.
  std::vector<std::string> forces;
  int64_t gpus = 1;
  /// Samples of a step.
  int64_t batch = 1;

  auto operator<=>(const NearRequest &) const = default;
};

/// What came of asking for one.
struct NearAttempt {
  enum class Outcome {
    fits,
    nothing,
    /// It cannot be asked for, or there was no time to find out.
    unknown,
  };
  Outcome outcome = Outcome::unknown;
  /// Of the plan that fits: of the rank that needs most, and of a step.
  int64_t peakBytes = 0;
  double seconds = 0;
};

using NearOracle = std::function<NearAttempt(const NearRequest &)>;

struct WayOut {
  /// `--gpus 8`, `without zero=0`.
  std::string change;
  int64_t peakBytes = 0;
  double seconds = 0;
};

struct WaysOut {
  /// Nothing fits with these parts of `--force` together, and with each of them
  /// left out something does; no other such set that was looked at is smaller.
  /// Empty: nothing fits without all of them either, or nobody knows.
  std::vector<std::string> conflict;
  /// Nothing fits without all that is forced.
  bool isForceInnocent = false;
  /// Each has a plan that fits: with one entry less, more micro-batches, more
  /// devices, fewer samples.
  std::vector<WayOut> ways;
};

struct NearLimits {
  int64_t mostGpus = 1;
  /// The number of samples can be chosen.
  bool isBatchFree = false;
};

/// For a request that nothing fits. Of devices and samples the nearest power of
/// two that helps is a way out.
WaysOut findWaysOut(const NearRequest &request, const NearLimits &limits,
                    const NearOracle &oracle);

} // namespace parplan

#endif // PARPLAN_DRIVER_WAYSOUT_H
