//===- EarlyProgram.cpp - A program that is made beside a search ----------===//

#include "lib/Driver/EarlyProgram.h"

#include <sys/resource.h>
#include <unistd.h>

using namespace parplan;

/// The thread has what the search leaves of the processors.
static void yieldToOthers() {
  constexpr int lower = 10;
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), lower);
}

void EarlyProgram::begin(Plan plan) {
  std::lock_guard<std::mutex> lock(mutex);
  waiting = std::move(plan);
  stop = true;
  if (isWorking)
    return;
  // The last one has ended, or is about to.
  if (thread.joinable())
    thread.join();
  isWorking = true;
  thread = std::thread([this] { work(); });
}

void EarlyProgram::work() {
  yieldToOthers();
  std::unique_lock<std::mutex> lock(mutex);
  while (waiting) {
    current = std::move(waiting);
    waiting.reset();
    std::optional<Made> dropped = std::move(made);
    made.reset();
    stop = false;
    lock.unlock();
    // Large ones take a while to free.
    dropped.reset();
    std::optional<LoweredProgram> program = make(*current, stop);
    if (stop)
      program.reset();
    lock.lock();
    if (program && !stop)
      made.emplace(std::move(*current), std::move(*program));
    current.reset();
  }
  isWorking = false;
}

void EarlyProgram::settle(const Plan *found) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    bool isBegun =
        found && (waiting ? *waiting == *found : current && *current == *found);
    if (!isBegun) {
      waiting.reset();
      stop = true;
    }
  }
  if (thread.joinable())
    thread.join();
}

std::optional<LoweredProgram> EarlyProgram::take(const Plan &plan) {
  std::optional<LoweredProgram> program;
  if (made && made->first == plan)
    program.emplace(std::move(made->second));
  made.reset();
  return program;
}
