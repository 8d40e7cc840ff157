//===- SpaceSearchTest.cpp - The search against all that there is ---------===//

#include "StubSpaces.h"

#include "lib/Planner/Joint/Background.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Instances per test; more by hand.
int getRounds(int usual) {
  const char *given = std::getenv("PARPLAN_TEST_ROUNDS");
  return given ? std::atoi(given) : usual;
}

struct Totals {
  int feasible = 0, infeasible = 0, missed = 0, optimal = 0;
  double worstPlan = 0, sumPlan = 0, worstBound = 0, sumBound = 0;

  void compare(const SpaceSearchResult &found, double optimum) {
    if (std::isinf(optimum)) {
      ++infeasible;
      EXPECT_FALSE(found.plan) << "claims a plan where there is none";
      return;
    }
    ++feasible;
    const Certificate &certificate = found.certificate;
    EXPECT_LE(certificate.lowerBoundSeconds, optimum * (1 + 1e-9));
    double low = 1 - certificate.lowerBoundSeconds / optimum;
    worstBound = std::max(worstBound, low);
    sumBound += low;
    if (!found.plan) {
      ++missed;
      return;
    }
    double high = certificate.upperBoundSeconds / optimum - 1;
    EXPECT_GE(high, -1e-9);
    optimal += high < 1e-9;
    worstPlan = std::max(worstPlan, high);
    sumPlan += high;
  }

  void print(const char *name) const {
    // Drafts may miss what fits barely.
    EXPECT_LE(20 * missed, feasible) << name;
    printf("%s: %d feasible, %d infeasible, %d missed, %d optimal; plan "
           "+%.2f %% mean, +%.2f %% worst; bound -%.2f %% mean, -%.2f %% "
           "worst\n",
           name, feasible, infeasible, missed, optimal,
           100 * sumPlan / std::max(1, feasible - missed), 100 * worstPlan,
           100 * sumBound / std::max(1, feasible), 100 * worstBound);
  }
};

Totals search(const StubOptions &options, unsigned firstSeed, int rounds) {
  Totals totals;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(firstSeed + round);
    StubSource source(firstSeed + round, options);
    SpaceSearchOptions search;
    search.gap = 0;
    search.memoryLimitBytes = source.memoryLimitBytes;
    SpaceSearchResult found = searchSpaces(source, search);
    totals.compare(found, source.search(source.memoryLimitBytes).seconds);
    if (testing::Test::HasFailure())
      break;
  }
  return totals;
}

/// Nothing is made again with the most micro-batches alone.
class KeptAtLast : public StubSource {
public:
  using StubSource::StubSource;

  double getKeptBytes(int, int64_t count) override {
    return count == getCounts().back() ? 0 : memoryLimitBytes + 1;
  }
  std::unique_ptr<SpaceModel> make(int space, int64_t count) override {
    made.push_back(count);
    return StubSource::make(space, count);
  }

  std::vector<int64_t> made;
};

/// Different states are raised by different threads.
class ThreadedSource : public StubSource {
public:
  ThreadedSource(unsigned seed, unsigned threads)
      : StubSource(seed, {}), background(threads) {}

  void forEach(size_t count, llvm::function_ref<void(size_t)> work) override {
    background.forEach(count, work);
  }

private:
  Background background;
};

} // namespace

TEST(SpaceSearch, BoundsAndPlansEncloseTheOptimum) {
  StubOptions options;
  search(options, 1, getRounds(40)).print("meeting");
}

TEST(SpaceSearch, BoundsAndPlansEncloseTheOptimumWithoutMeeting) {
  StubOptions options;
  options.meeting = Meeting::never;
  search(options, 100001, getRounds(25)).print("not meeting");
}

TEST(SpaceSearch, BoundsAndPlansEncloseTheOptimumWhereSomeCutsMeet) {
  StubOptions options;
  options.meeting = Meeting::bySomeCuts;
  search(options, 200001, getRounds(15)).print("some cuts meet");
}

TEST(SpaceSearch, BoundsAndPlansEncloseTheOptimumWhereEndsMeet) {
  StubOptions options;
  options.meeting = Meeting::ofEnds;
  search(options, 500001, getRounds(25)).print("ends meet");
}

TEST(SpaceSearch, BoundsAndPlansEncloseTheOptimumWhereSmallPartsAreFaster) {
  StubOptions options;
  options.overheadOfParts = -0.06;
  search(options, 400001, getRounds(40)).print("faster in parts");
}

TEST(SpaceSearch, SmallSpacesOfOnePosition) {
  StubOptions options;
  options.mostBlocks = 4;
  options.kinds = {ScheduleKind::oneForwardOneBackward};
  search(options, 200001, getRounds(40)).print("1f1b");
}

TEST(SpaceSearch, TheSameTwice) {
  StubSource source(5, {});
  SpaceSearchOptions options;
  options.memoryLimitBytes = source.memoryLimitBytes;
  SpaceSearchResult first = searchSpaces(source, options);
  SpaceSearchResult second = searchSpaces(source, options);
  EXPECT_EQ(first.evaluations, second.evaluations);
  EXPECT_EQ(first.oracleCalls, second.oracleCalls);
  EXPECT_EQ(first.certificate.lowerBoundSeconds,
            second.certificate.lowerBoundSeconds);
  EXPECT_EQ(first.certificate.upperBoundSeconds,
            second.certificate.upperBoundSeconds);
}

TEST(SpaceSearch, TheSameWithAnyNumberOfThreads) {
  for (unsigned seed = 700; seed < 704; ++seed) {
    SCOPED_TRACE(seed);
    std::optional<SpaceSearchResult> alone;
    for (unsigned threads : {0, 1, 3}) {
      ThreadedSource source(seed, threads);
      SpaceSearchOptions options;
      options.memoryLimitBytes = source.memoryLimitBytes;
      SpaceSearchResult found = searchSpaces(source, options);
      if (!alone) {
        alone = std::move(found);
        continue;
      }
      EXPECT_EQ(found.evaluations, alone->evaluations);
      EXPECT_EQ(found.oracleCalls, alone->oracleCalls);
      EXPECT_EQ(found.certificate.lowerBoundSeconds,
                alone->certificate.lowerBoundSeconds);
      EXPECT_EQ(found.certificate.upperBoundSeconds,
                alone->certificate.upperBoundSeconds);
    }
  }
}

TEST(SpaceSearch, TheLastLikelyPlanIsTheBest) {
  int told = 0;
  for (unsigned seed = 600; seed < 620; ++seed) {
    SCOPED_TRACE(seed);
    StubSource source(seed, {});
    double likely = std::numeric_limits<double>::infinity();
    SpaceSearchOptions options;
    options.memoryLimitBytes = source.memoryLimitBytes;
    options.likely = [&](const JudgedPlan &plan, const Configuration &) {
      EXPECT_LT(plan.evaluation.stepTimeSeconds, likely);
      likely = plan.evaluation.stepTimeSeconds;
      ++told;
    };
    SpaceSearchResult found = searchSpaces(source, options);
    if (found.plan) {
      EXPECT_EQ(likely, found.plan->evaluation.stepTimeSeconds);
    }
  }
  EXPECT_GT(told, 10);
}

TEST(SpaceSearch, LaterSearchesMayHaveLessMemory) {
  int fewerCalls = 0;
  for (unsigned seed = 300; seed < 320; ++seed) {
    SCOPED_TRACE(seed);
    StubSource source(seed, {});
    SpaceSearch search(source);
    SpaceSearchOptions options;
    options.gap = 0;
    options.memoryLimitBytes = 2 * source.memoryLimitBytes;
    (void)search.run(options);
    options.memoryLimitBytes = source.memoryLimitBytes;
    SpaceSearchResult later = search.run(options);
    Totals totals;
    totals.compare(later, source.search(options.memoryLimitBytes).seconds);
    SpaceSearchResult fresh = searchSpaces(source, options);
    EXPECT_EQ(later.plan.has_value(), fresh.plan.has_value());
    fewerCalls += later.oracleCalls < fresh.oracleCalls;
  }
  EXPECT_GT(fewerCalls, 10);
}

TEST(SpaceSearch, BoundsOfEarlierOnesHoldWithLessMemory) {
  int raised = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    StubSource source(seed, {});
    SpaceSearch search(source);
    SpaceSearchOptions options;
    options.memoryLimitBytes = 2 * source.memoryLimitBytes;
    SpaceSearchResult first = search.run(options);
    if (first.boundMicroBatches == 0)
      continue;
    // Nothing is found out any more.
    options.memoryLimitBytes = source.memoryLimitBytes;
    options.timeBudgetSeconds = 0;
    SpaceSearchResult second = search.run(options);
    EXPECT_GE(second.certificate.lowerBoundSeconds,
              first.certificate.lowerBoundSeconds);
    EXPECT_LE(second.certificate.lowerBoundSeconds,
              source.search(source.memoryLimitBytes).seconds * (1 + 1e-9));
    raised += second.boundSource == first.boundSource;
  }
  EXPECT_GT(raised, 0);
}

TEST(SpaceSearch, PlansLeaveBytesFreeUnlessNoneDoes) {
  int sparing = 0, others = 0;
  for (unsigned seed = 500; seed < 540; ++seed) {
    SCOPED_TRACE(seed);
    StubSource source(seed, {});
    SpaceSearchOptions options;
    options.memoryLimitBytes = source.memoryLimitBytes;
    options.spareBytes = 0.1 * source.memoryLimitBytes;
    SpaceSearchResult found = searchSpaces(source, options);
    if (!found.plan)
      continue;
    SpaceSearchOptions less;
    less.memoryLimitBytes = options.memoryLimitBytes - options.spareBytes;
    bool isSparing = searchSpaces(source, less).plan.has_value();
    (isSparing ? sparing : others) += 1;
    const auto &peaks = found.plan->evaluation.positionPeakBytes;
    EXPECT_LE(*std::max_element(peaks.begin(), peaks.end()),
              std::ceil(isSparing ? less.memoryLimitBytes
                                  : options.memoryLimitBytes));
    // Bounds are about all of the memory.
    EXPECT_LE(found.certificate.lowerBoundSeconds,
              source.search(options.memoryLimitBytes).seconds * (1 + 1e-9));
  }
  EXPECT_GT(sparing, 0);
  EXPECT_GT(others, 0);
}

TEST(SpaceSearch, BeginsWhereNothingIsMadeAgain) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    KeptAtLast source(seed, {});
    source.memoryLimitBytes = 1e12;
    SpaceSearchOptions options;
    options.memoryLimitBytes = source.memoryLimitBytes;
    SpaceSearchResult found = searchSpaces(source, options);
    ASSERT_TRUE(found.plan);
    EXPECT_EQ(source.made.front(), source.getCounts().back());
    // What follows does not depend on it.
    EXPECT_LE(found.certificate.lowerBoundSeconds,
              source.search(options.memoryLimitBytes).seconds * (1 + 1e-9));
  }
}

namespace {

/// One that names the schedules of its last space.
class Seeded : public StubSource {
public:
  using StubSource::StubSource;
  std::vector<Seed> getSeeds(double /*memoryLimitBytes*/) override {
    std::vector<Seed> seeds;
    int space = getSpaceCount() - 1;
    for (ScheduleShape shape : getShapes(space)) {
      shape.microBatches = getCounts().back();
      if (!getRefusal(shape))
        seeds.push_back({space, shape});
    }
    return seeds;
  }
};

} // namespace

TEST(SpaceSearch, HasAPlanOfASeedBeforeAnyBound) {
  int seeded = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Seeded source(seed, {});
    SpaceSearchOptions options;
    options.memoryLimitBytes = 1e12;
    std::optional<double> first;
    options.progress = [&](const SpaceSearchProgress &progress) {
      first = first.value_or(progress.bestSeconds);
    };
    SpaceSearchResult found = searchSpaces(source, options);
    if (!first || source.getSeeds(options.memoryLimitBytes).empty())
      continue;
    EXPECT_LT(*first, std::numeric_limits<double>::infinity());
    ++seeded;
    // Seeds are but a beginning.
    ASSERT_TRUE(found.plan);
    EXPECT_LE(found.certificate.lowerBoundSeconds,
              source.search(options.memoryLimitBytes).seconds * (1 + 1e-9));
  }
  EXPECT_GT(seeded, 5);
}

namespace {

/// One whose only seed is the first schedule of its first space.
class SeededOnce : public Seeded {
public:
  using Seeded::Seeded;
  std::vector<Seed> getSeeds(double /*memoryLimitBytes*/) override {
    ScheduleShape shape = getShapes(0).front();
    shape.microBatches = getCounts().front();
    return {{0, shape}};
  }
  std::vector<Place> getNeighbours(Place place) override {
    return {{(place.space + 1) % getSpaceCount(), place.microBatches}};
  }
};

} // namespace

TEST(SpaceSearch, GoesFromASeedToWhatIsBetterNearIt) {
  int otherSpaces = 0, otherCounts = 0, otherSchedules = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    SeededOnce source(seed, {});
    // Before the first bound of a configuration.
    std::atomic<bool> stop = false;
    SpaceSearchOptions options;
    options.memoryLimitBytes = 1e12;
    options.stop = &stop;
    options.progress = [&](const SpaceSearchProgress &) { stop = true; };
    SpaceSearchResult found = searchSpaces(source, options);
    ASSERT_TRUE(found.plan);
    ScheduleShape first =
        source.getSeeds(options.memoryLimitBytes).front().shape;
    otherSpaces += found.configuration.space != 0;
    otherCounts += found.configuration.microBatches != first.microBatches;
    otherSchedules += found.configuration.shape.kind != first.kind;
  }
  EXPECT_GT(otherSpaces, 5);
  EXPECT_GT(otherCounts, 2);
  EXPECT_GT(otherSchedules, 5);
}

TEST(SpaceSearch, GoesOnBeyondItsTimeUntilThereIsAPlan) {
  Seeded source(1, {});
  SpaceSearchOptions options;
  options.memoryLimitBytes = 1e12;
  options.timeBudgetSeconds = 0;
  EXPECT_FALSE(searchSpaces(source, options).plan);
  options.patienceSeconds = 60;
  SpaceSearchResult found = searchSpaces(source, options);
  EXPECT_TRUE(found.plan);
  EXPECT_TRUE(found.isCutShort);
}

TEST(SpaceSearch, HasLessTimeWithoutAPlan) {
  Seeded source(1, {});
  SpaceSearchOptions options;
  options.memoryLimitBytes = 1e12;
  options.timeBudgetSeconds = 60;
  options.shareWithoutPlan = 0;
  SpaceSearchResult found = searchSpaces(source, options);
  EXPECT_FALSE(found.plan);
  EXPECT_TRUE(found.isCutShort);
  // With the first plan it has all of it.
  options.patienceSeconds = 60;
  found = searchSpaces(source, options);
  EXPECT_TRUE(found.plan);
  EXPECT_FALSE(found.isCutShort);
}

TEST(SpaceSearch, BeginsWithWhatHadTheBestPlansBefore) {
  StubSource source(1, {});
  SpaceSearch search(source);
  SpaceSearchOptions options;
  options.memoryLimitBytes = 1e12;
  SpaceSearchResult before = search.run(options);
  ASSERT_TRUE(before.plan);
  // There are no seeds, and no time for anything else.
  std::atomic<bool> stop = false;
  options.stop = &stop;
  options.progress = [&](const SpaceSearchProgress &) { stop = true; };
  SpaceSearchResult found = search.run(options);
  ASSERT_TRUE(found.plan);
  EXPECT_EQ(found.configuration, before.configuration);
}

TEST(SpaceSearch, StopsWhenAskedTo) {
  StubSource source(5, {});
  std::atomic<bool> stop = true;
  SpaceSearchOptions options;
  options.stop = &stop;
  SpaceSearchResult result = searchSpaces(source, options);
  EXPECT_FALSE(result.plan);
  EXPECT_EQ(result.certificate.lowerBoundSeconds, 0);
}
