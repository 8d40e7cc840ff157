//===- worker_progress.cpp - Workers that do not wait for each other ------===//

#include "worker_progress.h"

#include <algorithm>

namespace parplan {
namespace runtime {

WorkerProgress::WorkerProgress(int workers, int64_t staleness, int64_t steps,
                               int64_t first)
    : states(static_cast<size_t>(workers)), staleness(staleness), steps(steps),
      current(first) {
  for (State &state : states)
    state.seen = first;
}

int64_t WorkerProgress::slowest() const {
  return std::min_element(states.begin(), states.end(),
                          [](const State &left, const State &right) {
                            return left.finished < right.finished;
                          })
      ->finished;
}

bool WorkerProgress::isDone() const {
  return std::all_of(states.begin(), states.end(), [&](const State &state) {
    return state.finished == steps && !state.waits;
  });
}

bool WorkerProgress::computes(int worker) const {
  return !states[worker].waits && states[worker].finished < steps;
}

void WorkerProgress::apply(int worker) {
  ++current;
  ++states[worker].finished;
  states[worker].waits = true;
}

bool WorkerProgress::mayHaveAnswer(int worker) const {
  const State &state = states[worker];
  const int64_t behind = isLast(worker) ? 0 : staleness;
  return state.waits && slowest() >= state.finished - behind;
}

bool WorkerProgress::mayHaveAnswer(int worker, int64_t wanted) const {
  const State &state = states[worker];
  return state.waits &&
         (isLast(worker) ? slowest() == steps : current == wanted);
}

void WorkerProgress::answer(int worker) {
  states[worker].seen = current;
  states[worker].waits = false;
}

int64_t WorkerProgress::begun() const {
  int64_t most = 0;
  for (const State &state : states)
    most = std::max(most, state.finished + (state.waits ? 0 : 1));
  return std::min(most, steps);
}

void WorkerProgress::endAfter(int64_t count) { steps = std::min(steps, count); }

} // namespace runtime
} // namespace parplan
