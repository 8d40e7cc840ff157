//===- RandomScheduleTest.cpp - Random shapes, cuts and times -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RandomSchedule.h"
#include "SerialMachine.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t runs = 1000;

std::string getAscendingSum(int64_t microBatches) {
  std::string sum;
  for (int64_t batch = 0; batch != microBatches; ++batch)
    sum += std::to_string(batch) + '+';
  return sum;
}

} // namespace

TEST(RandomSchedule, verifiesSimulatesAndCompletes) {
  for (int64_t seed = 0; seed != runs; ++seed) {
    RandomSchedule drawn(seed);
    SCOPED_TRACE(describe(drawn.shape) + " seed " + std::to_string(seed));
    ASSERT_EQ(verifySchedule(drawn.schedule, drawn.times, drawn.latencies),
              std::nullopt);
    Timeline planned = simulate(drawn.schedule, drawn.times, drawn.latencies);
    std::vector<Transfer> transfers =
        orderTransfers(drawn.schedule, planned, drawn.edges);
    ASSERT_EQ(verifyTransfers(drawn.schedule, drawn.edges, transfers),
              std::nullopt);
    EXPECT_TRUE(completes(issueInOrder(drawn.shape, transfers), transfers,
                          drawn.edges, /*depth=*/0));
    double least = getLowerBound(drawn.shape, drawn.times, drawn.latencies);
    EXPECT_LE(least, planned.makespanSeconds * (1 + 1e-12));
    // Whatever the real times: the same order of sums, and an end.
    SerialRun run =
        runSerially(drawn.schedule, drawn.edges, transfers, drawn.random);
    EXPECT_TRUE(run.isComplete);
    EXPECT_EQ(run.fault, "");
    if (hasBackward(drawn.shape.kind)) {
      for (const std::string &sum : run.sums)
        EXPECT_EQ(sum, getAscendingSum(drawn.shape.microBatches));
    }
    // The same shape and times give the same table.
    EXPECT_EQ(
        makeSchedule(drawn.shape, drawn.times, drawn.latencies, drawn.room),
        drawn.schedule);
  }
}

TEST(RandomSchedule, otherTimesThanPlannedComplete) {
  for (int64_t seed = 0; seed != runs; ++seed) {
    RandomSchedule drawn(seed);
    SCOPED_TRACE(describe(drawn.shape) + " seed " + std::to_string(seed));
    StageTimes real = drawn.makeTimes();
    EXPECT_EQ(verifySchedule(drawn.schedule, real), std::nullopt);
    EXPECT_LE(getLowerBound(drawn.shape, real),
              simulate(drawn.schedule, real).makespanSeconds * (1 + 1e-12));
  }
}

namespace {

/// Breaks a schedule; false if this one has nothing to break in this way.
using Mutation = bool (*)(RandomSchedule &, PipelineSchedule &);

/// A position, and an index into its passes.
std::pair<int64_t, int64_t> drawPass(RandomSchedule &drawn,
                                     const PipelineSchedule &schedule) {
  int64_t position = drawn.draw(0, schedule.shape.positions - 1);
  auto count = static_cast<int64_t>(schedule.passes[position].size());
  return {position, drawn.draw(0, count - 1)};
}

bool dropPass(RandomSchedule &drawn, PipelineSchedule &schedule) {
  auto [position, index] = drawPass(drawn, schedule);
  auto &list = schedule.passes[position];
  list.erase(list.begin() + index);
  return true;
}

bool repeatPass(RandomSchedule &drawn, PipelineSchedule &schedule) {
  auto [position, index] = drawPass(drawn, schedule);
  auto &list = schedule.passes[position];
  list.insert(list.begin() + drawn.draw(0, list.size()), list[index]);
  return true;
}

bool changeMicroBatch(RandomSchedule &drawn, PipelineSchedule &schedule) {
  auto [position, index] = drawPass(drawn, schedule);
  schedule.passes[position][index].microBatch += drawn.draw(0, 1) * 2 - 1;
  return true;
}

bool changeChunk(RandomSchedule &drawn, PipelineSchedule &schedule) {
  auto [position, index] = drawPass(drawn, schedule);
  schedule.passes[position][index].chunk += drawn.draw(0, 1) * 2 - 1;
  return true;
}

bool changeKind(RandomSchedule &drawn, PipelineSchedule &schedule) {
  auto [position, index] = drawPass(drawn, schedule);
  PassKind &kind = schedule.passes[position][index].kind;
  kind = static_cast<PassKind>((static_cast<int>(kind) + drawn.draw(1, 3)) % 4);
  return true;
}

bool moveToAnotherPosition(RandomSchedule &drawn, PipelineSchedule &schedule) {
  if (schedule.shape.positions == 1)
    return false;
  auto [position, index] = drawPass(drawn, schedule);
  auto &list = schedule.passes[position];
  Pass pass = list[index];
  list.erase(list.begin() + index);
  auto &other = schedule.passes[(position + 1) % schedule.shape.positions];
  other.insert(other.begin() + drawn.draw(0, other.size()), pass);
  return true;
}

bool swapMicroBatches(RandomSchedule &drawn, PipelineSchedule &schedule) {
  auto [position, index] = drawPass(drawn, schedule);
  auto &list = schedule.passes[position];
  for (size_t other = index + 1; other < list.size(); ++other)
    if (list[other].kind == list[index].kind &&
        list[other].chunk == list[index].chunk) {
      std::swap(list[index], list[other]);
      return true;
    }
  return false;
}

/// A backward pass before its forward pass, or a weight gradient before its
/// input gradient.
bool putBeforeItsInput(RandomSchedule &drawn, PipelineSchedule &schedule) {
  auto [position, index] = drawPass(drawn, schedule);
  auto &list = schedule.passes[position];
  Pass pass = list[index];
  PassKind before = pass.kind == PassKind::weightGradient
                        ? PassKind::inputGradient
                        : PassKind::forward;
  if (pass.kind == PassKind::forward)
    return false;
  for (int64_t other = 0; other != index; ++other)
    if (list[other] == Pass{before, pass.microBatch, pass.chunk}) {
      std::rotate(list.begin() + other, list.begin() + index,
                  list.begin() + index + 1);
      return true;
    }
  return false;
}

/// All forward passes first: more in flight than the schedule allows, or the
/// order of gpipe, which gpipe allows.
bool postponeBackward(RandomSchedule &drawn, PipelineSchedule &schedule) {
  int64_t position = drawn.draw(0, schedule.shape.positions - 1);
  auto &list = schedule.passes[position];
  int64_t limit = getInFlightLimit(schedule.shape, position);
  if (!hasBackward(schedule.shape.kind) ||
      limit >= schedule.shape.microBatches * schedule.shape.chunks)
    return false;
  std::stable_partition(list.begin(), list.end(), [](const Pass &pass) {
    return pass.kind == PassKind::forward;
  });
  return true;
}

bool dropPosition(RandomSchedule &, PipelineSchedule &schedule) {
  schedule.passes.pop_back();
  return true;
}

} // namespace

TEST(RandomSchedule, brokenOnesAreRefused) {
  constexpr Mutation mutations[] = {dropPass,         repeatPass,
                                    changeMicroBatch, changeChunk,
                                    changeKind,       moveToAnotherPosition,
                                    swapMicroBatches, putBeforeItsInput,
                                    postponeBackward, dropPosition};
  std::vector<int64_t> counts(std::size(mutations), 0);
  for (int64_t seed = 0; seed != runs; ++seed) {
    RandomSchedule drawn(seed);
    SCOPED_TRACE(describe(drawn.shape) + " seed " + std::to_string(seed));
    for (size_t index = 0; index != std::size(mutations); ++index) {
      PipelineSchedule broken = drawn.schedule;
      if (!mutations[index](drawn, broken))
        continue;
      ++counts[index];
      EXPECT_TRUE(verifySchedule(broken, drawn.times, drawn.latencies))
          << "mutation " << index << "\n"
          << printSchedule(broken);
    }
  }
  for (size_t index = 0; index != std::size(mutations); ++index)
    EXPECT_GT(counts[index], runs / 10) << "mutation " << index;
}

TEST(RandomSchedule, swappedNeighboursAreRefusedIfTheyDeadlock) {
  // A swap of neighbours of different kinds may be a schedule as well; the
  // machine, which knows no rule, has the last word.
  int64_t accepted = 0, refused = 0;
  for (int64_t seed = 0; seed != runs; ++seed) {
    RandomSchedule drawn(seed);
    SCOPED_TRACE(describe(drawn.shape) + " seed " + std::to_string(seed));
    PipelineSchedule swapped = drawn.schedule;
    auto [position, index] = drawPass(drawn, swapped);
    auto &list = swapped.passes[position];
    if (index + 1 == static_cast<int64_t>(list.size()) ||
        list[index].kind == list[index + 1].kind)
      continue;
    std::swap(list[index], list[index + 1]);
    if (verifySchedule(swapped, drawn.times, drawn.latencies)) {
      ++refused;
      continue;
    }
    ++accepted;
    Timeline timeline = simulate(swapped, drawn.times, drawn.latencies);
    SerialRun run = runSerially(swapped, drawn.edges,
                                orderTransfers(swapped, timeline, drawn.edges),
                                drawn.random);
    EXPECT_TRUE(run.isComplete);
    EXPECT_EQ(run.fault, "");
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 50);
}

TEST(RandomSchedule, hasTheOrderOfItsShapeButForWeightGradients) {
  for (int64_t seed = 0; seed != runs; ++seed) {
    RandomSchedule drawn(seed);
    SCOPED_TRACE(describe(drawn.shape) + " seed " + std::to_string(seed));
    PipelineSchedule order = drawn.schedule;
    if (splitsBackward(drawn.shape.kind))
      for (std::vector<Pass> &passes : order.passes)
        std::erase_if(passes, [](const Pass &pass) {
          return pass.kind == PassKind::weightGradient;
        });
    EXPECT_EQ(makeOrder(drawn.shape), order);
  }
}
