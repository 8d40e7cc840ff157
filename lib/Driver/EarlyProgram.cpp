//===- EarlyProgram.cpp - A program that is made beside a search ----------===//

#include "lib/Driver/EarlyProgram.h"

#include <utility>

using namespace parplan;

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
  std::unique_lock<std::mutex> lock(mutex);
  while (waiting) {
    current = std::exchange(waiting, std::nullopt);
    made.reset();
    stop = false;
    lock.unlock();
    std::optional<LoweredProgram> program = make(*current, stop);
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
  if (!made || made->first != plan)
    return std::nullopt;
  std::optional<LoweredProgram> program(std::move(made->second));
  made.reset();
  return program;
}
