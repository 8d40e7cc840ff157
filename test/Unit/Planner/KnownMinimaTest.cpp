//===- KnownMinimaTest.cpp - What answers say of other questions ----------===//

#include "lib/Planner/Units/KnownMinima.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace parplan;

namespace {

/// A few plans with random costs.
class Plans {
public:
  explicit Plans(unsigned seed) : random(seed) {
    for (int plan = 0; plan < 5; ++plan)
      costs.push_back(draw());
  }

  /// Some components are zero.
  Components draw() {
    std::uniform_real_distribution<double> number(-0.3, 1);
    Components drawn;
    for (double &component : drawn)
      component = std::max(0.0, number(random));
    return drawn;
  }
  double getLeast(const Components &prices) const {
    double least = std::numeric_limits<double>::infinity();
    for (const Components &cost : costs)
      least = std::min(least, getProduct(prices, cost));
    return least;
  }

private:
  std::mt19937 random;
  std::vector<Components> costs;
};

} // namespace

TEST(KnownMinima, SayNothingBeforeAnAnswer) {
  EXPECT_EQ(KnownMinima().getBound(Components{1, 1}), 0);
}

TEST(KnownMinima, SayNothingAfterWhatIsFreeOrImpossible) {
  KnownMinima known;
  known.add({}, 0);
  known.add({1}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(known.getBound({0, 1}), 0);
  EXPECT_EQ(known.getBound({1, 1}), 0);
}

TEST(KnownMinima, KnowMultiplesOfWhatWasAsked) {
  KnownMinima known;
  known.add({1, 2}, 3);
  EXPECT_NEAR(known.getBound({2, 4}), 6, 1e-8);
}

TEST(KnownMinima, AddUpPricesThatAreKnown) {
  KnownMinima known;
  known.add({1, 0}, 3);
  known.add({0, 1}, 4);
  EXPECT_NEAR(known.getBound({2, 1}), 10, 1e-8);
}

TEST(KnownMinima, AreNeverAboveTheMinimum) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Plans plans(seed);
    KnownMinima known;
    double closest = 0;
    for (int question = 0; question < 300; ++question) {
      Components prices = plans.draw();
      double least = plans.getLeast(prices), bound = known.getBound(prices);
      EXPECT_LE(bound, least) << "seed " << seed;
      closest = std::max(closest, bound / least);
      known.add(prices, least);
    }
    EXPECT_GT(closest, 0.7) << "seed " << seed;
  }
}
