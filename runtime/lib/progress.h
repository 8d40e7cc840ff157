//===- progress.h - What a training run says while it runs ----------------===//

#ifndef PARPLAN_RUNTIME_LIB_PROGRESS_H
#define PARPLAN_RUNTIME_LIB_PROGRESS_H

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace parplan {
namespace runtime {

/// Whether progress is wanted: standard error is a terminal, or that of the
/// process which started the ranks is.
bool progressWanted();
/// Says so to the processes started from here.
void announceProgress();

/// One line on standard error, rewritten twice a second by a thread of its own,
/// so that it moves while a long step runs.
class Progress {
public:
  /// A run that has `firstStep` of `steps` steps behind it.
  Progress(int64_t firstStep, int64_t steps, int64_t samplesPerStep);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// `step` steps are finished.
  void update(int64_t step, double loss);

private:
  void work();
  void print();

  const int64_t firstStep, steps, samplesPerStep, started;
  int64_t step;
  double loss = 0;
  bool stopping = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread worker;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_PROGRESS_H
