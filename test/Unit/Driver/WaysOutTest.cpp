//===- WaysOutTest.cpp - Why nothing fits, and what would -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/WaysOut.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

using Outcome = NearAttempt::Outcome;

bool has(const NearRequest &near, const char *entry) {
  return llvm::is_contained(near.forces, entry);
}

/// Plans fit where the bytes of a request are at most 100.
NearOracle within100(std::function<int64_t(const NearRequest &)> getBytes) {
  return [=](const NearRequest &near) {
    int64_t bytes = getBytes(near);
    return NearAttempt{bytes <= 100 ? Outcome::fits : Outcome::nothing, bytes,
                       static_cast<double>(bytes)};
  };
}

std::vector<std::string> getChanges(const WaysOut &found) {
  std::vector<std::string> changes;
  for (const WayOut &way : found.ways)
    changes.push_back(way.change);
  return changes;
}

using Words = std::vector<std::string>;

TEST(WaysOut, NameTheEntryThatIsTooMuchAlone) {
  WaysOut found = findWaysOut({{"dp=2", "recompute=none", "zero=0"}, 2, 8}, {},
                              within100([](const NearRequest &near) {
                                return has(near, "zero=0") ? 200 : 60;
                              }));
  EXPECT_EQ(found.conflict, Words{"zero=0"});
  EXPECT_EQ(getChanges(found), Words{"without zero=0"});
  EXPECT_EQ(found.ways.front().peakBytes, 60);
}

TEST(WaysOut, NameEntriesThatAreTooMuchTogether) {
  auto getBytes = [](const NearRequest &near) {
    return has(near, "offload=none") && has(near, "recompute=none") ? 200 : 60;
  };
  WaysOut found =
      findWaysOut({{"recompute=none", "dp=1", "offload=none"}, 1, 8}, {},
                  within100(getBytes));
  EXPECT_EQ(found.conflict, (Words{"recompute=none", "offload=none"}));
  EXPECT_EQ(getChanges(found),
            (Words{"without recompute=none", "without offload=none"}));
}

TEST(WaysOut, SayThatNothingForcedIsTheReason) {
  WaysOut found = findWaysOut(
      {{"dp=1"}, 1, 8}, {/*mostGpus=*/8},
      within100([](const NearRequest &near) { return 200 / near.gpus; }));
  EXPECT_TRUE(found.conflict.empty());
  EXPECT_TRUE(found.isForceInnocent);
  EXPECT_EQ(getChanges(found), Words{"--gpus 2"});
}

TEST(WaysOut, AreTheNearestThatFit) {
  auto getBytes = [](const NearRequest &near) {
    int64_t cuts = has(near, "micro-batches=8")   ? 8
                   : has(near, "micro-batches=4") ? 4
                                                  : 2;
    return 64 * near.batch / (cuts * near.gpus);
  };
  WaysOut found =
      findWaysOut({{"micro-batches=2"}, 1, 8},
                  {/*mostGpus=*/64, /*isBatchFree=*/true}, within100(getBytes));
  EXPECT_EQ(getChanges(found),
            (Words{"micro-batches=8", "--gpus 4", "--global-batch 2"}));
}

TEST(WaysOut, LetTheDataSizeGrowWithTheDevices) {
  auto oracle = [](const NearRequest &near) {
    bool isWhole = has(near, "dp=2") ? near.gpus == 4 : near.gpus == 8;
    return NearAttempt{!isWhole         ? Outcome::unknown
                       : near.gpus == 8 ? Outcome::fits
                                        : Outcome::nothing,
                       70, 1};
  };
  WaysOut found =
      findWaysOut({{"dp=2", "tp1d=2"}, 4, 8}, {/*mostGpus=*/64}, oracle);
  EXPECT_EQ(getChanges(found), Words{"--gpus 8 with dp=4"});
}

TEST(WaysOut, ClaimNothingThatWasNotSeen) {
  int64_t count = 0;
  auto oracle = [&](const NearRequest &) {
    ++count;
    return NearAttempt{};
  };
  WaysOut found = findWaysOut({{"dp=2", "zero=0"}, 2, 8},
                              {/*mostGpus=*/64, /*isBatchFree=*/true}, oracle);
  EXPECT_TRUE(found.conflict.empty());
  EXPECT_FALSE(found.isForceInnocent);
  EXPECT_TRUE(found.ways.empty());
  EXPECT_LE(count, 4);
}

TEST(WaysOut, AskForEachRequestOnce) {
  std::map<NearRequest, int> counts;
  auto oracle = within100([&](const NearRequest &near) {
    ++counts[near];
    return near.forces.size() > 1 ? 200 : 60;
  });
  findWaysOut({{"a=1", "b=1", "c=1"}, 1, 8},
              {/*mostGpus=*/8, /*isBatchFree=*/true}, oracle);
  for (const auto &[near, count] : counts)
    EXPECT_EQ(count, 1);
}

} // namespace
