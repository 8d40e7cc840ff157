//===- Background.cpp - Work for other threads ----------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Background.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <memory>
#include <utility>

using namespace parplan;

unsigned Background::getSpareThreads() {
  return std::clamp(std::thread::hardware_concurrency(), 1u, 4u) - 1;
}

Background::Background(unsigned threadCount) {
  for (unsigned number = 0; number < threadCount; ++number)
    threads.emplace_back([this] { run(); });
}

void Background::end() {
  {
    std::lock_guard guard(lock);
    isEnding = true;
    queue.clear();
    later.clear();
  }
  isWanted.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

bool Background::wantsMore() const {
  std::lock_guard guard(lock);
  return queue.size() < mostWaiting * threads.size();
}

void Background::add(const void *subject, std::function<void()> work) {
  {
    std::lock_guard guard(lock);
    queue.push_back({subject, std::move(work)});
  }
  isWanted.notify_one();
}

void Background::addLater(const void *subject, std::function<void()> work) {
  {
    std::lock_guard guard(lock);
    later.push_back({subject, std::move(work)});
  }
  isWanted.notify_one();
}

void Background::dropLater() {
  std::lock_guard guard(lock);
  later.clear();
}

void Background::claim(const void *subject) {
  std::unique_lock guard(lock);
  for (std::deque<Task> *tasks : {&queue, &later})
    llvm::erase_if(*tasks,
                   [&](const Task &task) { return task.subject == subject; });
  while (llvm::is_contained(begun, subject) && !queue.empty())
    runNext(queue, guard);
}

void Background::forEach(size_t count, llvm::function_ref<void(size_t)> work) {
  /// Outlives the call: threads may come when all is done.
  struct Progress {
    std::mutex lock;
    std::condition_variable isDone;
    size_t next = 0, done = 0;
  };
  auto progress = std::make_shared<Progress>();
  auto run = [progress, count, work] {
    std::unique_lock guard(progress->lock);
    while (progress->next < count) {
      size_t number = progress->next++;
      guard.unlock();
      work(number);
      guard.lock();
      ++progress->done;
    }
    progress->isDone.notify_all();
  };
  {
    std::lock_guard guard(lock);
    for (size_t thread = 0; thread < threads.size(); ++thread)
      queue.push_front({progress.get(), run});
  }
  isWanted.notify_all();
  run();
  std::unique_lock guard(progress->lock);
  progress->isDone.wait(guard, [&] { return progress->done == count; });
}

void Background::runNext(std::deque<Task> &tasks,
                         std::unique_lock<std::mutex> &guard) {
  Task task = std::move(tasks.front());
  tasks.pop_front();
  begun.push_back(task.subject);
  guard.unlock();
  task.work();
  // What it holds goes without the lock.
  task.work = nullptr;
  guard.lock();
  begun.erase(llvm::find(begun, task.subject));
}

void Background::run() {
  std::unique_lock guard(lock);
  while (true) {
    isWanted.wait(guard,
                  [&] { return isEnding || !queue.empty() || !later.empty(); });
    if (isEnding)
      return;
    runNext(queue.empty() ? later : queue, guard);
  }
}
