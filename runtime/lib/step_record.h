//===- step_record.h - Steps of workers at their own pace -----------------===//

#ifndef PARPLAN_RUNTIME_LIB_STEP_RECORD_H
#define PARPLAN_RUNTIME_LIB_STEP_RECORD_H

#include "step_numbers.h"

#include <deque>
#include <functional>
#include <vector>

namespace parplan {
namespace runtime {

/// What workers say of their steps, until all have said something of a step.
class StepRecord {
public:
  /// Gets the means over the workers, by their weights, and the seconds of
  /// worker 0.
  using Report = std::function<void(const StepResult &, double seconds)>;

  StepRecord(int workers, Report report)
      : waiting(static_cast<size_t>(workers)),
        current(static_cast<size_t>(workers)), report(std::move(report)) {}

  /// What the worker has said so far of its next step.
  OwnNumbers &told(int worker) { return current[worker]; }
  /// The numbers of the next step of a worker.
  void add(int worker, const OwnNumbers &numbers, double seconds = 0);
  /// Of which all workers have said something.
  int64_t steps() const { return complete; }

private:
  struct Entry {
    OwnNumbers numbers;
    double seconds;
  };
  std::vector<std::deque<Entry>> waiting;
  std::vector<OwnNumbers> current;
  Report report;
  int64_t complete = 0;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_STEP_RECORD_H
