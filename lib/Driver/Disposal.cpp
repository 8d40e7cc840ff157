//===- Disposal.cpp - Freeing beside other work ---------------------------===//

#include "lib/Driver/Disposal.h"

#include <future>
#include <mutex>
#include <vector>

using namespace parplan;

namespace {

/// Waits for all of them when it goes.
struct Disposals {
  std::mutex lock;
  std::vector<std::future<void>> running;
};

} // namespace

void parplan::disposeInBackground(std::shared_ptr<void> object) {
  static Disposals disposals;
  std::lock_guard guard(disposals.lock);
  disposals.running.push_back(
      std::async(std::launch::async,
                 [object = std::move(object)]() mutable { object.reset(); }));
}
