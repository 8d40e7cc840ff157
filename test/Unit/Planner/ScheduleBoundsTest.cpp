//===- ScheduleBoundsTest.cpp - No simulated step is shorter --------------===//

#include "parplan/Planner/ScheduleBounds.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace parplan;

namespace {

/// Makespans as the evaluator has them: positions start together, run their
/// passes, do what is to be done before they meet, and go on together.
struct Step {
  ScheduleShape shape;
  StageTimes times;
  std::vector<OnceTimes> once;
  std::vector<double> latencies;
  WaitingRoom room;

  PipelineSchedule getSchedule() const {
    return makeSchedule(shape, times, latencies, room);
  }
  /// Where none waits for others between steps.
  double simulatePeriod() const {
    double ends = 0;
    for (const OnceTimes &each : once)
      ends = std::max(ends, each.meetingSeconds + each.endsSeconds);
    return simulate(getSchedule(), times, latencies, /*steps=*/5)
               .periodSeconds +
           ends;
  }

  double simulateSeconds() const {
    Timeline timeline = simulate(getSchedule(), times, latencies);
    double last = 0, ends = 0;
    for (int64_t position = 0; position < shape.positions; ++position) {
      last = std::max(last, timeline.passes[position].back().endSeconds +
                                once[position].meetingSeconds);
      ends = std::max(ends, once[position].endsSeconds);
    }
    return last + ends;
  }
};

class Steps {
public:
  explicit Steps(unsigned seed) : random(seed) {}

  Step make(ScheduleKind kind) {
    Step step;
    step.shape.kind = kind;
    step.shape.positions = draw(2, 6);
    step.shape.microBatches = draw(1, 14);
    int64_t required = getRequiredChunks(kind);
    step.shape.chunks =
        required > 0 ? required : draw(required == 0 ? 2 : 1, 3);
    double spread = drawReal(0, 1);
    for (int64_t stage = 0; stage < step.shape.getStageCount(); ++stage) {
      PassTimes times;
      times.forwardSeconds = 1 + spread * drawReal(-1, 1);
      times.inputGradientSeconds = 1 + spread * drawReal(-1, 1);
      times.weightGradientSeconds = 1 + spread * drawReal(-1, 1);
      step.times.push_back(times);
      step.latencies.push_back(draw(0, 1) * drawReal(0, 0.3));
    }
    if (splitsBackward(kind))
      step.room = makeRoom(step.shape);
    for (int64_t position = 0; position < step.shape.positions; ++position)
      step.once.push_back({drawReal(0, 2), drawReal(0, 2)});
    return step;
  }

private:
  /// What waits needs more or less than what is kept; some positions have room
  /// for nothing that waits, some for all.
  WaitingRoom makeRoom(const ScheduleShape &shape) {
    WaitingRoom room;
    for (int64_t stage = 0; stage < shape.getStageCount(); ++stage) {
      int64_t saved = draw(0, 9), waiting = draw(0, 9);
      room.stages.push_back(
          {saved, waiting, saved, std::max(saved, waiting), waiting});
    }
    for (int64_t position = 0; position < shape.positions; ++position)
      room.positionBytes.push_back(draw(0, 9 * shape.microBatches));
    return room;
  }
  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  double drawReal(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  }
  std::mt19937 random;
};

class ScheduleBoundsTest : public testing::TestWithParam<ScheduleKind> {
protected:
  /// Over random steps.
  template <typename GetSeconds>
  static void check(Meeting meeting, int rounds, GetSeconds getStepSeconds) {
    Steps steps(7);
    for (int round = 0; round < rounds; ++round) {
      Step step = steps.make(GetParam());
      double seconds = getStepSeconds(step);
      double message =
          *std::min_element(step.latencies.begin(), step.latencies.end());
      for (int64_t centre = 0; centre < step.shape.positions; ++centre)
        for (const StepBound &bound :
             getStepBounds(step.shape, meeting, centre))
          ASSERT_LE(
              getSeconds(bound, step.shape, step.times, step.once, message),
              seconds * (1 + 1e-12))
              << printScheduleName(step.shape) << " p=" << step.shape.positions
              << " m=" << step.shape.microBatches << " centre " << centre;
    }
  }
};

} // namespace

TEST_P(ScheduleBoundsTest, NoSimulatedStepIsShorter) {
  check(Meeting::always, 300,
        [](const Step &step) { return step.simulateSeconds(); });
}

TEST_P(ScheduleBoundsTest, NoPeriodIsShorterWithoutMeeting) {
  check(Meeting::never, 150,
        [](const Step &step) { return step.simulatePeriod(); });
}

TEST_P(ScheduleBoundsTest, NoStepIsShorterWhetherSomeCutsMeetOrNot) {
  check(Meeting::bySomeCuts, 150, [](const Step &step) {
    return std::min(step.simulatePeriod(), step.simulateSeconds());
  });
}

TEST(StepBounds, TheFirstPositionsLastWeightGradientCounts) {
  ScheduleShape shape{ScheduleKind::zbV, 3, 8, 2};
  std::vector<OnceTimes> once(shape.positions);
  auto getHighest = [&](const StageTimes &times) {
    double highest = 0;
    for (int64_t centre = 0; centre < shape.positions; ++centre)
      for (const StepBound &bound :
           getStepBounds(shape, Meeting::always, centre))
        if (centre > 0 && bound.mostWaiting > 0)
          highest = std::max(highest, getSeconds(bound, shape, times, once, 0));
    return highest;
  };
  StageTimes times = getEqualTimes(shape), slowAtFirst = times;
  slowAtFirst[0].weightGradientSeconds += 0.25;
  EXPECT_DOUBLE_EQ(getHighest(slowAtFirst), getHighest(times) + 0.25);
}

TEST_P(ScheduleBoundsTest, NoStepIsShorterWithThatManyWaiting) {
  Steps steps(11);
  for (int round = 0; round < 150; ++round) {
    Step step = steps.make(GetParam());
    PipelineSchedule schedule = step.getSchedule();
    double seconds = step.simulatePeriod(),
           message = *llvm::min_element(step.latencies);
    for (int64_t centre = 0; centre < step.shape.positions; ++centre) {
      std::vector<int64_t> pending(step.shape.chunks, 0), waiting = pending;
      for (const Pass &pass : schedule.passes[centre]) {
        pending[pass.chunk] += pass.kind == PassKind::inputGradient;
        pending[pass.chunk] -= pass.kind == PassKind::weightGradient;
        if (pass.kind == PassKind::inputGradient)
          waiting = pending;
      }
      int64_t sum = std::accumulate(waiting.begin(), waiting.end(), int64_t(0));
      for (StepBound &bound :
           getStepBounds(step.shape, Meeting::never, centre)) {
        if (bound.mostWaiting == 0)
          continue;
        SCOPED_TRACE(printScheduleName(step.shape));
        ASSERT_LE(sum, bound.mostWaiting);
        WaitingCounts counts = countWaiting(step.shape, centre, sum);
        EXPECT_EQ(counts.waiting, waiting);
        for (size_t chunk = 0; chunk < waiting.size(); ++chunk)
          bound.ofCentre[chunk].weightGradient =
              static_cast<double>(counts.done[chunk]);
        ASSERT_LE(getSeconds(bound, step.shape, step.times, step.once, message),
                  seconds * (1 + 1e-12));
      }
    }
  }
}

TEST_P(ScheduleBoundsTest, ThatManyMicroBatchesAreInFlightWhateverTheTimes) {
  Steps steps(9);
  for (int round = 0; round < 100; ++round) {
    Step step = steps.make(GetParam());
    PipelineSchedule schedule = step.getSchedule();
    for (int64_t position = 0; position < step.shape.positions; ++position) {
      std::vector<int64_t> live(step.shape.chunks, 0);
      if (hasBackward(step.shape.kind))
        for (const Pass &pass : schedule.passes[position]) {
          if (pass.kind != PassKind::forward)
            break;
          ++live[pass.chunk];
        }
      EXPECT_EQ(getLeastInFlight(step.shape, position), live)
          << printScheduleName(step.shape) << " p=" << step.shape.positions
          << " m=" << step.shape.microBatches << " position " << position;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleBoundsTest,
                         testing::ValuesIn(getScheduleKinds()),
                         [](const testing::TestParamInfo<ScheduleKind> &info) {
                           std::string name = printScheduleName(info.param, 2);
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char letter) {
                                 return !isalnum(
                                     static_cast<unsigned char>(letter));
                               },
                               '_');
                           return name;
                         });

TEST(StepBounds, EqualStagesReachThemWithoutMeeting) {
  for (ScheduleKind kind :
       {ScheduleKind::gpipe, ScheduleKind::oneForwardOneBackward}) {
    ScheduleShape shape{kind, 4, 8, 1};
    double best = 0;
    for (int64_t centre = 0; centre < 4; ++centre)
      for (const StepBound &bound :
           getStepBounds(shape, Meeting::never, centre))
        best = std::max(best, getSeconds(bound, shape, getEqualTimes(shape),
                                         std::vector<OnceTimes>(4), 0));
    EXPECT_DOUBLE_EQ(best, 3.0 * (8 + 3));
  }
}

TEST(StepBounds, EqualStagesOfOneForwardOneBackwardReachThem) {
  ScheduleShape shape{ScheduleKind::oneForwardOneBackward, 4, 8, 1};
  double best = 0;
  for (int64_t centre = 0; centre < 4; ++centre)
    for (const StepBound &bound : getStepBounds(shape, Meeting::always, centre))
      best = std::max(best, getSeconds(bound, shape, getEqualTimes(shape),
                                       std::vector<OnceTimes>(4), 0));
  EXPECT_DOUBLE_EQ(best, 3.0 * (8 + 3));
}
