//===- metrics.h - The metrics document -----------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_METRICS_H
#define PARPLAN_RUNTIME_LIB_METRICS_H

#include "application_log.h"
#include "engine.h"

#include <string>
#include <vector>

namespace parplan {
namespace runtime {

/// What a rank reports, as plain bytes for the gather.
struct RankReport {
  int64_t peakBytes[memoryTiers] = {};
  int64_t transferred[transferKinds] = {};
  CallCount communication[callKinds];
  CallCount gathered;
  CallCount broadcasted;
  CallCount heard;
  char order[72] = "";
};

struct Metrics {
  int64_t ranks = 0;
  std::vector<double> stepSeconds;
  bool training = false;
  /// Of training, for each step; norms only where the program computes them.
  std::vector<float> losses;
  std::vector<float> gradientNorms;
  /// Steps that an earlier run has made.
  int64_t firstStep = 0;
  /// Steps that an overflow skipped.
  int64_t skippedSteps = 0;
  int64_t samplesPerStep = 0;
  /// Of an asynchronous parameter server.
  ApplicationLog applications;
  std::vector<RankReport> reports;
  /// Not empty when the run failed.
  std::string failure;
};

RankReport reportOf(EngineRank &rank, const World &world,
                    const std::string &order);

/// Writes the document, whole or not at all; false when that fails.
bool writeMetrics(const std::string &path, const Metrics &metrics);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_METRICS_H
