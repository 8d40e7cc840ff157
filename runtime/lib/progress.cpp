//===- progress.cpp - What a training run says while it runs --------------===//

#include "progress.h"
#include "engine.h"
#include "failure.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace parplan {
namespace runtime {

bool progressWanted() {
  return isatty(STDERR_FILENO) || environmentNumber("PARPLAN_PROGRESS", 0) != 0;
}

void announceProgress() {
  if (isatty(STDERR_FILENO))
    setenv("PARPLAN_PROGRESS", "1", /*overwrite=*/0);
}

Progress::Progress(int64_t firstStep, int64_t steps, int64_t samplesPerStep)
    : firstStep(firstStep), steps(steps), samplesPerStep(samplesPerStep),
      started(monotonicNanoseconds()), step(firstStep),
      worker([this] { work(); }) {}

Progress::~Progress() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  worker.join();
  print();
  std::fputc('\n', stderr);
  setLineOpen(false);
}

void Progress::update(int64_t finished, double newLoss) {
  std::lock_guard<std::mutex> lock(mutex);
  step = finished;
  loss = newLoss;
}

void Progress::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping) {
    print();
    changed.wait_for(lock, std::chrono::milliseconds(500));
  }
}

void Progress::print() {
  const double seconds = (monotonicNanoseconds() - started) * 1e-9;
  const int64_t done = step - firstStep;
  char line[160];
  int length = std::snprintf(line, sizeof line, "\rstep %lld/%lld",
                             static_cast<long long>(step),
                             static_cast<long long>(steps));
  if (done > 0) {
    const double left =
        seconds / static_cast<double>(done) * static_cast<double>(steps - step);
    const long long whole =
        left > 1e9 ? 1000000000 : static_cast<long long>(left + 0.5);
    length += std::snprintf(
        line + length, sizeof line - static_cast<size_t>(length),
        "  loss %.4f  %.4g samples/s  %lld:%02lld:%02lld left", loss,
        static_cast<double>(done * samplesPerStep) / seconds, whole / 3600,
        whole / 60 % 60, whole % 60);
  }
  std::fprintf(stderr, "%s\x1b[K", line);
  std::fflush(stderr);
  setLineOpen(true);
}

} // namespace runtime
} // namespace parplan
