//===- ScheduleBounds.cpp - Steps are not shorter than this ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/ScheduleBounds.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <map>

using namespace parplan;

namespace {

/// Numbers of each position that the orders of a shape give, made once for each
/// shape.
class OrderCounts {
public:
  using Count = std::vector<int64_t> (*)(const ScheduleShape &, int64_t,
                                         llvm::ArrayRef<Pass>);
  explicit OrderCounts(Count count) : count(count) {}

  const std::vector<int64_t> &get(const ScheduleShape &shape,
                                  int64_t position) {
    auto [it, isNew] =
        known.try_emplace({static_cast<int64_t>(shape.kind), shape.positions,
                           shape.microBatches, shape.chunks});
    if (isNew) {
      PipelineSchedule schedule = makeOrder(shape);
      for (auto [each, passes] : llvm::enumerate(schedule.passes))
        it->second.push_back(count(shape, static_cast<int64_t>(each), passes));
    }
    return it->second[position];
  }

private:
  Count count;
  std::map<std::array<int64_t, 4>, std::vector<std::vector<int64_t>>> known;
};

} // namespace

/// Micro-batches in flight during the first backward pass of schedules whose
/// order has no short formula.
static std::vector<int64_t> countInOrder(ScheduleShape shape,
                                         int64_t position) {
  static thread_local OrderCounts known(
      [](const ScheduleShape &of, int64_t, llvm::ArrayRef<Pass> passes) {
        std::vector<int64_t> counts(of.chunks, 0);
        for (const Pass &pass : passes) {
          if (pass.kind != PassKind::forward)
            break;
          ++counts[pass.chunk];
        }
        return counts;
      });
  // What comes after the warm-up does not change what comes before.
  shape.microBatches = std::min(shape.microBatches, 2 * shape.positions + 2);
  return known.get(shape, position);
}

std::vector<int64_t> parplan::getLeastInFlight(const ScheduleShape &shape,
                                               int64_t position) {
  int64_t batches = shape.microBatches;
  int64_t below = shape.positions - position;
  switch (shape.kind) {
  case ScheduleKind::forwardOnly:
    return std::vector<int64_t>(shape.chunks, 0);
  case ScheduleKind::gpipe:
    return {batches};
  case ScheduleKind::oneForwardOneBackward:
  case ScheduleKind::zbH1:
    return {std::min(batches, below)};
  case ScheduleKind::oneForwardOneBackwardEager:
  case ScheduleKind::zbH2:
    return {std::min(batches, 2 * below - 1)};
  case ScheduleKind::zbV:
    return {std::min(batches, 2 * shape.positions - position - 1),
            std::min(batches, position + 1)};
  case ScheduleKind::interleaved: {
    // Groups of micro-batches visit the chunks in turn.
    int64_t left = getInFlightLimit(shape, position);
    int64_t groups = std::max<int64_t>(1, batches / shape.positions);
    std::vector<int64_t> counts(shape.chunks, 0);
    for (int64_t group = 0; group < groups && left > 0; ++group) {
      int64_t size = batches / groups + (group < batches % groups ? 1 : 0);
      for (int64_t &count : counts) {
        int64_t taken = std::min(size, left);
        count += taken;
        left -= taken;
      }
    }
    return counts;
  }
  case ScheduleKind::vHalf:
  case ScheduleKind::vMin:
    return countInOrder(shape, position);
  }
  return {};
}

/// Before its first backward pass, in the last chunk, a micro-batch went
/// through all stages and back; the centre has run only so many forward passes
/// by then. `plain` is that the centre runs all it has.
static StepBound goAround(const ScheduleShape &shape, StepBound plain) {
  int64_t centre = plain.centre;
  size_t chunks = shape.chunks;
  std::vector<int64_t> ahead = getLeastInFlight(shape, centre);
  StepBound around = std::move(plain);
  around.isShared = false;
  int64_t turn = getStage(shape, centre, shape.chunks - 1);
  int64_t boundaries = shape.getStageCount() - 1;
  around.messages = static_cast<double>(2 * boundaries - turn);
  if (isVee(shape.kind)) {
    // The turn of the way needs no message.
    around.messages -= turn < shape.positions ? 2 : 1;
  }
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    around.before[chunk] = around.behind[chunk] = {1, 0, 0};
    around.ofCentre[chunk].forward =
        1 + static_cast<double>(shape.microBatches - ahead[chunk]);
  }
  // What the way back has of a stage.
  auto &afterTurn = (isVee(shape.kind) ? around.before : around.behind);
  afterTurn[chunks - 1].inputGradient += 1;
  afterTurn[chunks - 1].weightGradient += splitsBackward(shape.kind) ? 0 : 1;
  return around;
}

WaitingCounts parplan::countWaiting(const ScheduleShape &shape,
                                    int64_t position, int64_t waiting) {
  static thread_local OrderCounts known(
      [](const ScheduleShape &, int64_t, llvm::ArrayRef<Pass> passes) {
        // Orders of input gradients are those of the shape.
        std::vector<int64_t> chunks;
        for (const Pass &pass : passes)
          if (pass.kind == PassKind::inputGradient)
            chunks.push_back(pass.chunk);
        return chunks;
      });
  int64_t left = shape.microBatches * shape.chunks - waiting;
  WaitingCounts counts;
  counts.done.assign(shape.chunks, 0);
  counts.waiting.assign(shape.chunks, 0);
  if (shape.chunks == 1) {
    counts.done[0] = left;
    counts.waiting[0] = waiting;
    return counts;
  }
  for (int64_t chunk : known.get(shape, position))
    ++(left-- > 0 ? counts.done : counts.waiting)[chunk];
  return counts;
}

/// Behind the last gradient of the centre's input, in the first chunk, come
/// those of the positions before it, and of weights at least the first one's
/// last. `meeting`: whose seconds count then.
static StepBound goBack(const ScheduleShape &shape, StepBound bound,
                        std::optional<int64_t> meeting) {
  bool isSplit = splitsBackward(shape.kind);
  bound.before[0].inputGradient += 1;
  bound.before[0].weightGradient += isSplit ? 0 : 1;
  bound.messages += static_cast<double>(bound.centre);
  bound.meetingPosition = meeting;
  if (!isSplit)
    return bound;
  bound.ofFirst.weightGradient = 1;
  bound.isShared &= shape.chunks == 1;
  // At its last forward pass no more are in flight than the schedule allows.
  bound.mostWaiting = std::min(shape.microBatches * shape.chunks,
                               getInFlightLimit(shape, bound.centre));
  WaitingCounts counts = countWaiting(shape, bound.centre, bound.mostWaiting);
  for (auto [passes, count] : llvm::zip_equal(bound.ofCentre, counts.done))
    passes.weightGradient = static_cast<double>(count);
  return bound;
}

StepBound parplan::getWorkBound(const ScheduleShape &shape, int64_t centre) {
  auto batches = static_cast<double>(shape.microBatches);
  double backward = hasBackward(shape.kind) ? batches : 0;
  StepBound bound;
  bound.centre = centre;
  bound.meetingPosition = centre;
  bound.isShared = true;
  bound.before.resize(shape.chunks);
  bound.behind.resize(shape.chunks);
  bound.ofCentre.assign(shape.chunks, {batches, backward, backward});
  return bound;
}

std::vector<StepBound> parplan::getStepBounds(const ScheduleShape &shape,
                                              Meeting meeting, int64_t centre) {
  PARPLAN_CHECK(meeting != Meeting::ofEnds, "whether ends meet is known of ",
                printScheduleName(shape));
  bool meets = meeting == Meeting::always;
  StepBound plain = getWorkBound(shape, centre);
  // The first forward pass of the centre follows those of the positions before
  // it, in the first chunk.
  StepBound there = plain;
  there.before[0].forward = 1;
  there.messages = static_cast<double>(centre);
  if (!hasBackward(shape.kind)) {
    if (!meets)
      return {plain};
    // The last one is followed by those of the positions behind it, in the last
    // chunk.
    int64_t last = shape.positions - 1;
    StepBound through = there;
    through.behind[shape.chunks - 1].forward = 1;
    through.messages = static_cast<double>(last);
    through.meetingPosition = last;
    if (centre == last)
      return {through};
    return {through, there};
  }

  StepBound around = goAround(shape, plain);
  std::vector<StepBound> bounds;
  bool goesBack = centre > 0;
  // Bounds with a way back are higher, unless they leave something out.
  bool isBackComplete =
      goesBack && !splitsBackward(shape.kind) && meeting != Meeting::bySomeCuts;
  if (meets) {
    bounds = {there, around};
  } else if (!isBackComplete) {
    // The centre begins a step behind all its passes of the one before, while
    // those before it may be further.
    bounds = {plain, around};
    bounds.back().before[0].forward -= 1;
    bounds.back().messages -= static_cast<double>(centre);
  }
  // From its first pass on, the first position is in the same step until its
  // last one: that takes no longer than a step, whether all meet or not.
  if (goesBack) {
    std::optional<int64_t> last;
    if (meeting != Meeting::bySomeCuts)
      last = meets ? 0 : centre;
    bounds.push_back(goBack(shape, there, last));
    bounds.push_back(goBack(shape, around, last));
  }
  return bounds;
}

double parplan::getSeconds(const StepBound &bound, const ScheduleShape &shape,
                           const StageTimes &times,
                           const std::vector<OnceTimes> &once,
                           double leastMessageSeconds) {
  double sum =
      bound.messages * leastMessageSeconds + once[bound.centre].endsSeconds;
  sum += bound.ofFirst.get(times[0]);
  if (bound.meetingPosition)
    sum += once[*bound.meetingPosition].meetingSeconds;
  for (int64_t position = 0; position < shape.positions; ++position) {
    const auto &weights = position < bound.centre    ? bound.before
                          : position == bound.centre ? bound.ofCentre
                                                     : bound.behind;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      sum += weights[chunk].get(times[getStage(shape, position, chunk)]);
  }
  return sum;
}
