//===- DisposalTest.cpp - Freeing beside other work -----------------------===//

#include "lib/Driver/Disposal.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

using namespace parplan;

TEST(Disposal, FreesInAnotherThread) {
  std::promise<std::thread::id> freed;
  std::shared_ptr<void> object(
      &freed, [&](void *) { freed.set_value(std::this_thread::get_id()); });
  disposeInBackground(std::move(object));
  EXPECT_NE(freed.get_future().get(), std::this_thread::get_id());
}

TEST(Disposal, ReturnsBeforeTheObjectIsFreed) {
  std::promise<void> isReturned, isFreed;
  std::shared_ptr<void> object(&isFreed, [&](void *) {
    isReturned.get_future().wait();
    isFreed.set_value();
  });
  disposeInBackground(std::move(object));
  isReturned.set_value();
  isFreed.get_future().wait();
}
