//===- worker_progress.h - Workers that do not wait for each other --------===//
//
// What an asynchronous parameter server knows: which pushes it has applied, and
// who may go on. A worker starts a step when all others are at most
// `staleness` steps behind it. So at most (workers - 1) * (2 * staleness + 1)
// pushes of others are applied between the answer that a push was computed from
// and the push.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_WORKER_PROGRESS_H
#define PARPLAN_RUNTIME_LIB_WORKER_PROGRESS_H

#include <cstdint>
#include <vector>

namespace parplan {
namespace runtime {

class WorkerProgress {
public:
  /// Each worker has made the same number of steps, and makes `steps` more, all
  /// from the version `first` on. A version is a number of applications.
  WorkerProgress(int workers, int64_t staleness, int64_t steps, int64_t first);

  int64_t version() const { return current; }
  /// Steps that the worker has finished: pushes of it that are applied.
  int64_t finished(int worker) const { return states[worker].finished; }
  /// The version that the worker computes from, or has.
  int64_t seen(int worker) const { return states[worker].seen; }
  /// Whether all steps are made, and all workers have the last version.
  bool isDone() const;

  /// Whether a push of the worker can come: it was answered and has steps left.
  bool computes(int worker) const;
  void apply(int worker);
  /// Whether the worker waits for an answer and may have it now. After its last
  /// step it waits for all others.
  bool mayHaveAnswer(int worker) const;
  /// The same where the answer is to be of the version `wanted`.
  bool mayHaveAnswer(int worker, int64_t wanted) const;
  /// The worker has the current version now.
  void answer(int worker);
  bool isLast(int worker) const { return states[worker].finished == steps; }

  /// The most steps that a worker has finished or begun.
  int64_t begun() const;
  /// Makes no more steps than so many, of which as many have begun at most.
  void endAfter(int64_t count);
  /// Makes no more steps than those that have begun.
  void endSoon() { endAfter(begun()); }
  int64_t stepCount() const { return steps; }

private:
  struct State {
    int64_t finished = 0;
    int64_t seen = 0;
    bool waits = false;
  };
  int64_t slowest() const;

  std::vector<State> states;
  const int64_t staleness;
  int64_t steps;
  int64_t current;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_WORKER_PROGRESS_H
