//===- BackgroundTest.cpp - Work for other threads ------------------------===//

#include "lib/Planner/Joint/Background.h"

#include "gtest/gtest.h"

#include <atomic>
#include <future>

using namespace parplan;

namespace {

/// A task that a thread is at until somebody lets it go.
class Held {
public:
  std::function<void()> getWork() {
    return [this] {
      begun.set_value();
      isLetGo.get_future().wait();
    };
  }
  void waitUntilBegun() { begun.get_future().wait(); }
  void letGo() { isLetGo.set_value(); }

private:
  std::promise<void> begun, isLetGo;
};

} // namespace

TEST(Background, IsDoneByAnotherThread) {
  std::promise<std::thread::id> worker;
  int subject = 0;
  Background background(1);
  background.add(&subject,
                 [&] { worker.set_value(std::this_thread::get_id()); });
  EXPECT_NE(worker.get_future().get(), std::this_thread::get_id());
}

TEST(Background, WantsMoreUntilEnoughWorkWaits) {
  Held held;
  int first = 0, others = 0;
  Background background(1);
  background.add(&first, held.getWork());
  held.waitUntilBegun();
  for (size_t waiting = 0; waiting < Background::mostWaiting; ++waiting) {
    EXPECT_TRUE(background.wantsMore());
    background.add(&others, [] {});
  }
  EXPECT_FALSE(background.wantsMore());
  held.letGo();
}

TEST(Background, WantsNothingWithoutThreads) {
  EXPECT_FALSE(Background(0).wantsMore());
}

TEST(Background, LeavesWhatIsClaimedToTheClaimer) {
  Held held;
  int first = 0, second = 0;
  std::atomic<bool> isDone = false;
  Background background(1);
  background.add(&first, held.getWork());
  held.waitUntilBegun();
  background.add(&second, [&] { isDone = true; });
  background.claim(&second);
  held.letGo();
  EXPECT_TRUE(background.wantsMore());
  EXPECT_FALSE(isDone);
}

TEST(Background, BeginsLaterWorkBehindAllOther) {
  Held held;
  int subject = 0;
  std::vector<int> order;
  std::promise<void> last;
  Background background(1);
  background.add(&subject, held.getWork());
  held.waitUntilBegun();
  background.addLater(&subject, [&] {
    order.push_back(2);
    last.set_value();
  });
  background.add(&subject, [&] { order.push_back(1); });
  held.letGo();
  last.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Background, DropsLaterWorkAndWhatIsClaimedOfIt) {
  Held held;
  int first = 0, second = 0, third = 0;
  std::atomic<bool> isDone = false;
  std::promise<void> last;
  Background background(1);
  background.add(&first, held.getWork());
  held.waitUntilBegun();
  background.addLater(&second, [&] { isDone = true; });
  background.claim(&second);
  background.addLater(&third, [&] { isDone = true; });
  background.dropLater();
  background.addLater(&first, [&] { last.set_value(); });
  held.letGo();
  last.get_future().wait();
  EXPECT_FALSE(isDone);
}

TEST(Background, DoesOtherWorkHereWhileAThreadIsAtWhatIsClaimed) {
  Held held;
  int first = 0, second = 0;
  std::thread::id worker;
  Background background(1);
  background.add(&first, held.getWork());
  held.waitUntilBegun();
  background.add(&second, [&] { worker = std::this_thread::get_id(); });
  background.claim(&first);
  EXPECT_EQ(worker, std::this_thread::get_id());
  held.letGo();
}

TEST(Background, DoesEveryNumberOnce) {
  for (unsigned threads : {0, 1, 3}) {
    std::vector<std::atomic<int>> times(100);
    Background(threads).forEach(times.size(),
                                [&](size_t number) { ++times[number]; });
    for (const std::atomic<int> &time : times)
      EXPECT_EQ(time, 1);
  }
}

TEST(Background, SharesNumbersWithItsThreads) {
  // Both are at a number at the same time, or neither ends.
  std::promise<void> ofFirst, ofSecond;
  Background background(1);
  background.forEach(2, [&](size_t number) {
    (number == 0 ? ofFirst : ofSecond).set_value();
    (number == 0 ? ofSecond : ofFirst).get_future().wait();
  });
}

TEST(Background, BeginsNumbersInAscendingOrder) {
  // Each waits for the one before it.
  for (unsigned threads : {0, 1, 3}) {
    std::vector<std::promise<void>> isDone(20);
    Background(threads).forEach(isDone.size(), [&](size_t number) {
      if (number > 0)
        isDone[number - 1].get_future().wait();
      isDone[number].set_value();
    });
  }
}

TEST(Background, DoesNumbersAloneWhileItsThreadsAreBusy) {
  Held held;
  int subject = 0, count = 0;
  Background background(1);
  background.add(&subject, held.getWork());
  held.waitUntilBegun();
  background.forEach(3, [&](size_t) { ++count; });
  EXPECT_EQ(count, 3);
  held.letGo();
}
