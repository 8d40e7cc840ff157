//===- VerifySchedule.cpp - Is a table of passes a schedule ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Pipeline/Transfers.h"

#include "parplan/Support/Check.h"

using namespace parplan;

namespace {

bool isPassOf(const ScheduleShape &shape, const Pass &pass) {
  bool isSplit = splitsBackward(shape.kind);
  switch (pass.kind) {
  case PassKind::forward:
    return true;
  case PassKind::backward:
    return hasBackward(shape.kind) && !isSplit;
  case PassKind::inputGradient:
  case PassKind::weightGradient:
    return isSplit;
  }
  return false;
}

int64_t getPassesPerStage(ScheduleKind kind) {
  return !hasBackward(kind) ? 1 : splitsBackward(kind) ? 3 : 2;
}

/// Every pass once, micro-batches of a chunk and kind in ascending order: both
/// follow if the next one is always the one that is due.
std::optional<std::string> verifyCompleteness(const PipelineSchedule &schedule,
                                              int64_t position) {
  const ScheduleShape &shape = schedule.shape;
  std::vector<int64_t> due(4 * shape.chunks, 0);
  for (const Pass &pass : schedule.passes[position]) {
    if (!isPassOf(shape, pass) || pass.chunk < 0 ||
        pass.chunk >= shape.chunks || pass.microBatch < 0 ||
        pass.microBatch >= shape.microBatches)
      return concat("position ", position, " has the pass ",
                    printPass(shape, pass), ", which is none of ",
                    printScheduleName(shape), " with ", shape.microBatches,
                    " micro-batches");
    int64_t &next = due[4 * pass.chunk + static_cast<int64_t>(pass.kind)];
    if (pass.microBatch != next) {
      Pass expected = pass;
      expected.microBatch = next;
      return concat("position ", position, " has the pass ",
                    printPass(shape, pass), " where ",
                    printPass(shape, expected), " is due");
    }
    ++next;
  }
  auto count = static_cast<int64_t>(schedule.passes[position].size());
  int64_t expected =
      shape.chunks * shape.microBatches * getPassesPerStage(shape.kind);
  if (count != expected)
    return concat("position ", position, " has ", count, " passes, not ",
                  expected);
  return std::nullopt;
}

} // namespace

std::optional<std::string>
parplan::verifySchedule(const PipelineSchedule &schedule,
                        const StageTimes &times, const Latencies &latencies) {
  const ScheduleShape &shape = schedule.shape;
  if (std::optional<std::string> refusal = getRefusal(shape))
    return refusal;
  if (static_cast<int64_t>(schedule.passes.size()) != shape.positions)
    return concat("the schedule has ", schedule.passes.size(),
                  " positions, not ", shape.positions);
  for (int64_t position = 0; position != shape.positions; ++position) {
    if (auto problem = verifyCompleteness(schedule, position))
      return problem;
    int64_t peak = getInFlightPeak(schedule, position);
    if (peak > getInFlightLimit(shape, position))
      return concat("position ", position, " has ", peak,
                    " chunks in flight, more than the ",
                    getInFlightLimit(shape, position), " of ",
                    printScheduleName(shape));
  }
  std::optional<Timeline> timeline = trySimulate(schedule, times, latencies);
  if (!timeline)
    return "the order of passes waits for itself";
  std::vector<StageEdge> edges = getChainEdges(shape);
  return verifyTransfers(schedule, edges,
                         orderTransfers(schedule, *timeline, edges));
}

std::optional<std::string>
parplan::verifySchedule(const PipelineSchedule &schedule) {
  if (std::optional<std::string> refusal = getRefusal(schedule.shape))
    return refusal;
  return verifySchedule(schedule, getEqualTimes(schedule.shape));
}
