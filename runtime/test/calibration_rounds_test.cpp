//===- calibration_rounds_test.cpp - Figures of several rounds ------------===//

#include "parplan_runtime/calibration_rounds.h"

#include <gtest/gtest.h>

namespace parplan {
namespace runtime {
namespace {

TEST(CalibrationRounds, MedianIsTheUpperOneOfAnEvenNumber) {
  EXPECT_EQ(getMedian({3}), 3);
  EXPECT_EQ(getMedian({9, 1, 2}), 2);
  EXPECT_EQ(getMedian({9, 1, 2, 3}), 3);
}

TEST(CalibrationRounds, EachFigureHasAllRounds) {
  CalibrationRounds rounds;
  for (double seconds : {1, 2, 3}) {
    rounds.begin();
    rounds.add("loops", "first", seconds);
    rounds.add("loops", "second", 10 * seconds);
    rounds.end();
  }
  ASSERT_EQ(rounds.getFigures().size(), 2u);
  EXPECT_EQ(rounds.getFigures()[0].seconds, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(rounds.getFigures()[1].fields, "second");
  EXPECT_EQ(rounds.getFigures()[1].seconds, (std::vector<double>{10, 20, 30}));
}

// In the second round the machine is half as fast.
TEST(CalibrationRounds, ACallIsWhatItsTurnTakesLongerThanWorkOfItsRound) {
  CalibrationRounds rounds;
  for (double slower : {1, 2}) {
    rounds.begin();
    rounds.add("loops", "own", 3 * slower);
    for (double work : {4, 100, 3})
      rounds.addWork(work * slower);
    rounds.addCall("collectives", "call", 5 * slower);
    rounds.end();
  }
  EXPECT_EQ(rounds.getFigures()[0].seconds, (std::vector<double>{3, 6}));
  EXPECT_EQ(rounds.getFigures()[1].seconds, (std::vector<double>{1, 2}));
}

} // namespace
} // namespace runtime
} // namespace parplan
