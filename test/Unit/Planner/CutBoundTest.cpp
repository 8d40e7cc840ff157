//===- CutBoundTest.cpp - The least step over all cuts --------------------===//

#include "StubSpaces.h"

#include "lib/Planner/Joint/CutRaising.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Blocks of a few random kinds in a row.
class RandomChain {
public:
  explicit RandomChain(std::minstd_rand &random) {
    auto draw = [&](int least, int most) {
      return std::uniform_int_distribution(least, most)(random);
    };
    int kinds = draw(1, 3);
    for (int kind = 0; kind < kinds; ++kind) {
      BlockPlan plan;
      plan.cost.forward = draw(0, 4);
      plan.cost.inputGradient = draw(0, 4);
      plan.cost.weightGradient = draw(0, 4);
      plan.cost.meeting = draw(0, 9);
      plan.cost.ends = draw(0, 9);
      kindsOfBlocks.emplace_back(/*inCount=*/1, /*outCount=*/1,
                                 std::vector<BlockPlan>{plan});
    }
    for (ListOracle &kind : kindsOfBlocks)
      pointers.push_back(&kind);
    bool hasEnds = draw(0, 1) == 1;
    int blocks = 2 * draw(2, 6);
    for (int block = 0; block < blocks; ++block) {
      bool isEnd = hasEnds && (block == 0 || block + 1 == blocks);
      chain.add(draw(0, kinds - 1), /*count=*/1, isEnd);
    }
  }

  UnitChain chain;
  std::deque<ListOracle> kindsOfBlocks;
  std::vector<BlockOracle *> pointers;
};

/// Calls `visit` with all ways to give each of so many positions a share.
void forEachCut(int64_t blocks, int64_t positions, std::vector<int64_t> &counts,
                llvm::function_ref<void()> visit) {
  if (positions == 1) {
    counts.push_back(blocks);
    visit();
    counts.pop_back();
    return;
  }
  for (int64_t own = 1; own <= blocks - positions + 1; ++own) {
    counts.push_back(own);
    forEachCut(blocks - own, positions - 1, counts, visit);
    counts.pop_back();
  }
}

} // namespace

TEST(CutBound, IsTheLeastOverAllCutsOfTheirWorstCentre) {
  std::minstd_rand random(1);
  auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution(least, most)(random);
  };
  constexpr double never = std::numeric_limits<double>::infinity();
  constexpr CutBound::Effort efforts[] = {
      CutBound::Effort::work, CutBound::Effort::shared, CutBound::Effort::all};
  constexpr Meeting meetings[] = {Meeting::always, Meeting::never,
                                  Meeting::bySomeCuts};
  const char *const names[] = {"forward-only", "gpipe",         "1f1b",
                               "1f1b-eager",   "interleaved:2", "zb-h1",
                               "zb-h2",        "zb-v",          "v-half"};
  int rounds = 0;
  while (rounds < 400) {
    RandomChain own(random);
    AskedOracles oracles(own.pointers, allModes);
    ScheduleName name =
        *parseScheduleName(names[draw(0, std::size(names) - 1)]);
    ScheduleShape shape{name.kind, draw(1, 4), /*microBatches=*/8, name.chunks};
    int64_t perChunk = own.chain.getBlocksPerChunk(shape);
    if (perChunk == 0 || getRefusal(shape))
      continue;
    ++rounds;
    CutBound::Options options;
    options.effort = efforts[draw(0, 2)];
    options.meeting = meetings[draw(0, 2)];
    options.leastMessageSeconds = 0.5;
    CutBound bound(own.chain, shape, oracles, options);
    for (int raise = 0; raise < 3; ++raise) {
      int64_t position = draw(0, shape.positions - 1);
      int64_t before = draw(0, perChunk - 1);
      int64_t count = draw(1, perChunk - before);
      int64_t form = draw(0, bound.getForms(position).size() - 1);
      double seconds =
          draw(0, 9) == 0 ? never : static_cast<double>(draw(100, 300));
      bound.raiseCentre(position, form, before, count, seconds);
    }
    // What the first position does besides, by the blocks it has: where bounds
    // know it, of the cut that was found, else of one block.
    auto getSumsOfFirst =
        [&](const StepBound &of) -> const CutBound::CutSums & {
      std::vector<Weights> weights(shape.chunks, MemoryDual::getNoWeights());
      for (Weights &ofChunk : weights)
        ofChunk.meeting = 1;
      weights[0].weightGradient = of.ofFirst.weightGradient;
      return bound.getCutSums(weights);
    };
    bool countsFirst = options.effort == CutBound::Effort::all;

    CutPath found = bound.find(never);
    int64_t firstOfFound = found.counts.empty() ? 0 : found.counts.front();
    double least = never;
    std::vector<int64_t> counts;
    forEachCut(perChunk, shape.positions, counts, [&] {
      double worst = 0;
      int64_t before = 0;
      for (int64_t position = 0; position < shape.positions; ++position) {
        const auto &forms = bound.getForms(position);
        for (size_t form = 0; form < forms.size(); ++form) {
          double seconds =
              bound.getCentre(position, form, before, counts[position]) +
              bound.getOthers(position, form, before, counts[position]);
          if (countsFirst && position > 0 &&
              forms[form].bound.meetingPosition == 0)
            seconds += getSumsOfFirst(forms[form].bound)[counts.front()] -
                       getSumsOfFirst(forms[form].bound)[firstOfFound];
          worst = std::max(worst, seconds);
        }
        before += counts[position];
      }
      least = std::min(least, worst);
    });
    SCOPED_TRACE(printScheduleName(shape) + " on " +
                 std::to_string(shape.positions));
    ASSERT_FALSE(found.counts.empty());
    if (least == never) {
      EXPECT_EQ(found.seconds, never);
      continue;
    }
    EXPECT_NEAR(found.seconds, least, 1e-9 * least);
    EXPECT_TRUE(bound.find(least * 0.99).counts.empty());
    for (double cutoff : {found.seconds, least * 1.01, least * 1.5}) {
      CutPath within = bound.find(cutoff);
      ASSERT_FALSE(within.counts.empty());
      EXPECT_NEAR(within.seconds, least, 1e-9 * least);
    }
  }
}

TEST(CutBound, LooksBeyondAnEqualCutThatDoesNotFit) {
  BlockPlan plan;
  plan.cost.forward = plan.cost.inputGradient = plan.cost.weightGradient = 1;
  ListOracle oracle(/*inCount=*/1, /*outCount=*/1, {plan});
  AskedOracles oracles({&oracle}, allModes);
  UnitChain chain;
  chain.add(/*type=*/0, /*count=*/3, /*isEnd=*/false);
  ScheduleShape shape{ScheduleKind::oneForwardOneBackward, /*positions=*/2};
  CutBound::Options options;
  options.effort = CutBound::Effort::all;
  CutBound bound(chain, shape, oracles, options);
  constexpr double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(bound.find(never).counts, std::vector<int64_t>({1, 2}));
  // Two blocks are too large for the last position.
  for (size_t form = 0; form < bound.getForms(1).size(); ++form)
    bound.raiseCentre(1, form, /*before=*/1, /*count=*/2, never);
  CutPath path = bound.find(never);
  EXPECT_EQ(path.counts, std::vector<int64_t>({2, 1}));
  EXPECT_LT(path.seconds, never);
}

TEST(CutBound, RaisesWhatHoldsARaisedCentre) {
  BlockPlan plan;
  plan.cost.forward = plan.cost.inputGradient = plan.cost.weightGradient = 1;
  ListOracle oracle(/*inCount=*/1, /*outCount=*/1, {plan});
  AskedOracles oracles({&oracle}, allModes);
  UnitChain chain;
  chain.add(/*type=*/0, /*count=*/8, /*isEnd=*/false);
  ScheduleShape shape{ScheduleKind::oneForwardOneBackward, /*positions=*/3};
  CutBound bound(chain, shape, oracles, CutBound::Options());
  constexpr int64_t middle = 1, last = 2;
  auto get = [&](int64_t position, int64_t before, int64_t count) {
    return bound.getCentre(position, /*form=*/0, before, count);
  };
  double plain = get(middle, 2, 2);
  bound.raiseCentre(middle, /*form=*/0, /*before=*/2, /*count=*/3, 1000);
  EXPECT_EQ(get(middle, 2, 3), 1000);
  EXPECT_EQ(get(middle, 2, 4), 1000);
  EXPECT_EQ(get(middle, 3, 3), 1000) << "as many of equal blocks are the same";
  EXPECT_EQ(get(middle, 2, 2), plain);
  double ofLast = get(last, 6, 2);
  bound.raiseCentre(last, /*form=*/0, /*before=*/5, /*count=*/3, 1000);
  EXPECT_EQ(get(last, 4, 4), 1000);
  EXPECT_EQ(get(last, 6, 2), ofLast);
}

TEST(CutRaising, EndsWhereTheCutoffIsReachedExactly) {
  // Keeps a byte in a second, or none in two.
  BlockPlan kept, made;
  kept.cost.forward = 1;
  kept.cost.savedBytes = 1;
  made.cost.forward = 2;
  made.mode = 1;
  ListOracle oracle(/*inCount=*/1, /*outCount=*/1, {kept, made});
  AskedOracles oracles({&oracle}, allModes);
  UnitChain chain;
  chain.add(/*type=*/0, /*count=*/2, /*isEnd=*/false);
  MemoryDual dual(chain, oracles);
  ScheduleShape shape{ScheduleKind::gpipe, /*positions=*/2, /*microBatches=*/4};
  CutBound::Options options;
  options.effort = CutBound::Effort::all;
  constexpr double never = std::numeric_limits<double>::infinity();
  CutBound free(chain, shape, oracles, options);
  double without = free.find(never).seconds;
  for (double freeBytes : {0.0, 1.0, 2.0, 4.0}) {
    CutBound bound(chain, shape, oracles, options);
    CutPath within = raiseCut(bound, shape, chain, dual, freeBytes, never);
    EXPECT_EQ(within.seconds > without, freeBytes < 4);
    for (double cutoff : {without, within.seconds}) {
      CutBound again(chain, shape, oracles, options);
      CutPath path = raiseCut(again, shape, chain, dual, freeBytes, cutoff);
      EXPECT_TRUE(path.counts.empty() || path.seconds <= cutoff);
    }
  }
}
