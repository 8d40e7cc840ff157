//===- application_log.h - What an asynchronous server applied ------------===//

#ifndef PARPLAN_RUNTIME_LIB_APPLICATION_LOG_H
#define PARPLAN_RUNTIME_LIB_APPLICATION_LOG_H

#include <cstdint>
#include <string>
#include <vector>

namespace parplan {
namespace runtime {

/// Everything about the order of applications that the result depends on.
struct ApplicationLog {
  int64_t workers = 0;
  /// Steps before the run.
  int64_t firstStep = 0;
  /// For each application of this run: whose push it was, and how many
  /// applications of this run the parameters that it was computed from had
  /// seen.
  std::vector<int32_t> order;
  std::vector<int64_t> seen;
  /// It ends somewhere: workers have made different numbers of steps.
  bool isOfFailure = false;
};

/// Reads the log in the metrics of a run. False, with the reason, when there is
/// none or it is not one that a run can have.
bool readApplicationLog(const std::string &path, ApplicationLog &log,
                        std::string &reason);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_APPLICATION_LOG_H
