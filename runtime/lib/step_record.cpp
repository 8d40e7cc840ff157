//===- step_record.cpp - Steps of workers at their own pace ---------------===//

#include "step_record.h"

#include <algorithm>

namespace parplan {
namespace runtime {

void StepRecord::add(int worker, const OwnNumbers &numbers, double seconds) {
  waiting[worker].push_back({numbers, seconds});
  const bool isComplete =
      std::none_of(waiting.begin(), waiting.end(),
                   [](const std::deque<Entry> &own) { return own.empty(); });
  if (!isComplete)
    return;
  // Whoever was first, in one order: sums have the same bits then.
  StepResult mean;
  double weights = 0;
  const double ofFirst = waiting[0].front().seconds;
  for (std::deque<Entry> &own : waiting) {
    const OwnNumbers &entry = own.front().numbers;
    weights += entry.weight;
    mean.loss += entry.weight * entry.loss;
    mean.gradientNorm += entry.weight * entry.gradientNorm;
    own.pop_front();
  }
  mean.loss /= weights > 0 ? weights : 1;
  mean.gradientNorm /= weights > 0 ? weights : 1;
  ++complete;
  report(mean, ofFirst);
}

} // namespace runtime
} // namespace parplan
