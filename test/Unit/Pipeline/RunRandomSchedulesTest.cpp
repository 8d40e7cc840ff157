//===- RunRandomSchedulesTest.cpp - Random schedules on the runtime -------===//
//
// Part of parplan. Whatever schedule is accepted, and whatever is delayed on
// the way, the runtime makes the bits of one processor.
//
//===----------------------------------------------------------------------===//

#include "RandomSchedule.h"
#include "RunningPipeline.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <thread>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t runs = 1000, sideBySide = 25, steps = 2;

/// Delays by this seed; 0: none.
void setDelays(int64_t seed) {
  setenv("PARPLAN_CHAOS", std::to_string(seed).c_str(), /*overwrite=*/1);
}

std::vector<Transfer> makeTransfers(const PipelineSchedule &schedule,
                                    const RandomSchedule &drawn) {
  Timeline timeline = simulate(schedule, drawn.times, drawn.latencies);
  std::vector<Transfer> transfers =
      orderTransfers(schedule, timeline, drawn.edges);
  groupOpposite(schedule, drawn.edges, drawn.latencies, transfers);
  return transfers;
}

/// Neighbours of different kinds change places where that is still a schedule:
/// orders that no name stands for.
PipelineSchedule shuffle(RandomSchedule &drawn) {
  PipelineSchedule schedule = drawn.schedule;
  for (int64_t tries = drawn.draw(0, 12); tries != 0; --tries) {
    PipelineSchedule other = schedule;
    auto &list = other.passes[drawn.draw(0, drawn.shape.positions - 1)];
    auto last = static_cast<int64_t>(list.size()) - 1;
    if (last == 0)
      continue;
    int64_t index = drawn.draw(0, last - 1);
    std::swap(list[index], list[index + 1]);
    if (!verifySchedule(other, drawn.times, drawn.latencies))
      schedule = other;
  }
  return schedule;
}

/// An accepted schedule, and what comes of it.
struct DrawnRun {
  explicit DrawnRun(int64_t seed)
      : drawn(seed, /*mostPositions=*/4, /*mostMicroBatches=*/8),
        schedule(shuffle(drawn)), transfers(makeTransfers(schedule, drawn)) {}

  void execute() {
    sums = runOnRuntime(schedule, drawn.edges, transfers, steps);
  }

  RandomSchedule drawn;
  PipelineSchedule schedule;
  std::vector<Transfer> transfers;
  std::vector<float> sums;
};

TEST(RunRandomSchedules, theySumUpAsOneProcessorDoes) {
  int64_t grouped = 0, unnamed = 0;
  // Most of their time they are delayed: many run side by side.
  for (int64_t first = 0; first != runs; first += sideBySide) {
    std::vector<std::unique_ptr<DrawnRun>> batch;
    std::vector<std::thread> threads;
    setDelays(1 + first);
    for (int64_t seed = first; seed != first + sideBySide; ++seed)
      batch.push_back(std::make_unique<DrawnRun>(seed));
    for (auto &run : batch)
      threads.emplace_back([&run] { run->execute(); });
    for (std::thread &thread : threads)
      thread.join();
    for (int64_t index = 0; index != sideBySide; ++index) {
      const DrawnRun &run = *batch[index];
      SCOPED_TRACE(describe(run.drawn.shape) + " seed " +
                   std::to_string(first + index) + "\n" +
                   printSchedule(run.schedule));
      EXPECT_EQ(verifyTransfers(run.schedule, run.drawn.edges, run.transfers),
                std::nullopt);
      ASSERT_EQ(run.sums, runAlone(run.drawn.shape, run.drawn.edges, steps));
      unnamed += !(run.schedule == run.drawn.schedule);
      for (const Transfer &transfer : run.transfers)
        grouped += transfer.withNext;
    }
  }
  // The test sees what it is about.
  EXPECT_GT(grouped, runs);
  EXPECT_GT(unnamed, runs / 4);
}

TEST(RunRandomSchedules, anotherOrderOfSumsIsNoticed) {
  setDelays(0);
  ScheduleShape shape = makeShape("gpipe", 1, 4);
  PipelineSchedule schedule = makeSchedule(shape);
  EXPECT_EQ(runOnRuntime(schedule, {}, {}, steps), runAlone(shape, {}, steps));
  std::vector<Pass> &passes = schedule.passes[0];
  std::swap(passes[5], passes[7]);
  EXPECT_NE(runOnRuntime(schedule, {}, {}, steps), runAlone(shape, {}, steps));
}

} // namespace
