//===- Background.cpp - Work for other threads ----------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Background.h"

#include <algorithm>
#include <utility>

using namespace parplan;

unsigned Background::getSpareThreads() {
  return std::clamp(std::thread::hardware_concurrency(), 1u, 4u) - 1;
}

Background::Background(unsigned threadCount) {
  for (unsigned number = 0; number < threadCount; ++number)
    threads.emplace_back([this] { run(); });
}

Background::~Background() {
  {
    std::lock_guard guard(lock);
    isEnding = true;
    queue.clear();
  }
  isWanted.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

bool Background::isIdle() const {
  std::lock_guard guard(lock);
  return busyCount + queue.size() < threads.size();
}

void Background::add(std::function<void()> work) {
  {
    std::lock_guard guard(lock);
    queue.push_back(std::move(work));
  }
  isWanted.notify_one();
}

void Background::run() {
  std::unique_lock guard(lock);
  while (true) {
    isWanted.wait(guard, [&] { return isEnding || !queue.empty(); });
    if (isEnding)
      return;
    std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    ++busyCount;
    guard.unlock();
    work();
    // What it holds goes before anybody sees it done.
    work = nullptr;
    guard.lock();
    --busyCount;
  }
}
