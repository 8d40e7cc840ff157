//===- PartBoundTest.cpp - What ops take in more micro-batches ------------===//

#include "parplan/Planner/UnitOracles.h"

#include "gtest/gtest.h"

#include <deque>
#include <random>

using namespace parplan;

namespace {

/// Choices that differ in the axes of one factor.
OpChoices makeChoices(const std::vector<double> &seconds) {
  static std::deque<std::vector<FactorAssignment>> assignments;
  static std::deque<std::vector<double>> known;
  std::vector<FactorAssignment> &ofOp = assignments.emplace_back();
  for (size_t number = 0; number < seconds.size(); ++number)
    ofOp.emplace_back().axes = {{static_cast<int>(number)}};
  return {ofOp, known.emplace_back(seconds)};
}

} // namespace

TEST(PartBound, IsTheWorstShareWhereAllOpsHaveIt) {
  std::vector<OpChoices> whole = {makeChoices({4, 2}), makeChoices({8, 4})},
                         parts = {makeChoices({2, 1}), makeChoices({4, 2})};
  EXPECT_EQ(getLeastShare(whole, parts), 0.5);
  PartBound bound = boundParts(whole, parts);
  EXPECT_EQ(bound.share, 0.5);
  EXPECT_EQ(bound.lackSeconds, (std::vector<double>{0, 0}));
}

TEST(PartBound, LeavesOutLittleOpsThatTakeNextToNothingInParts) {
  std::vector<OpChoices> whole = {makeChoices({4, 2}), makeChoices({1e-6})},
                         parts = {makeChoices({4, 2}), makeChoices({1e-9})};
  EXPECT_EQ(getLeastShare(whole, parts), 1e-9 / 1e-6);
  PartBound bound = boundParts(whole, parts);
  EXPECT_EQ(bound.share, 1);
  EXPECT_EQ(bound.lackSeconds, (std::vector<double>{0, 1e-6 - 1e-9}));
}

TEST(PartBound, IsNoMoreThanAnyChoiceTakes) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> draw(0.1, 1);
  for (int time = 0; time < 200; ++time) {
    std::vector<OpChoices> whole, parts;
    for (int op = 0; op < 5; ++op) {
      std::vector<double> ofWhole, ofParts;
      for (int choice = 0; choice < 4; ++choice) {
        ofWhole.push_back(draw(random) * (op == 0 ? 0.01 : 1));
        ofParts.push_back(ofWhole.back() * (op == 0 ? draw(random) : 0.97));
      }
      whole.push_back(makeChoices(ofWhole));
      parts.push_back(makeChoices(ofParts));
    }
    PartBound bound = boundParts(whole, parts);
    EXPECT_GE(bound.share, getLeastShare(whole, parts));
    for (int op = 0; op < 5; ++op)
      for (int choice = 0; choice < 4; ++choice)
        EXPECT_LE(bound.share * whole[op].getSeconds(choice) -
                      bound.lackSeconds[op],
                  parts[op].getSeconds(choice) * (1 + 1e-12));
  }
}

TEST(PartBound, IsNothingWhereThePartsHaveOtherChoices) {
  std::vector<OpChoices> whole = {makeChoices({4})},
                         parts = {makeChoices({2, 1})};
  EXPECT_EQ(getLeastShare(whole, parts), 0);
  EXPECT_EQ(boundParts(whole, parts).share, 0);
}
