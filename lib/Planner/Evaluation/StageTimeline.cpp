//===- StageTimeline.cpp - Live bytes of a stage over a step --------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "StageTimeline.h"

using namespace parplan;

std::vector<StageTimeline> StageTimeline::makeAll(const Execution &execution,
                                                  int64_t stageCount,
                                                  bool isSplit,
                                                  std::vector<int> &times) {
  times.assign(execution.runs.size(), -1);
  std::vector<std::vector<int>> runs(stageCount);
  for (auto [index, run] : llvm::enumerate(execution.runs))
    runs[run.stage].push_back(static_cast<int>(index));
  std::vector<StageTimeline> timelines;
  timelines.reserve(stageCount);
  for (const std::vector<int> &ofStage : runs)
    timelines.push_back(StageTimeline(execution, ofStage, isSplit, times));
  return timelines;
}

StageTimeline::StageTimeline(const Execution &execution,
                             llvm::ArrayRef<int> runs, bool isSplit,
                             std::vector<int> &times) {
  std::array<std::vector<int>, phaseCount> phases;
  for (int run : runs) {
    Phase phase = execution.runs[run].phase;
    if (!isSplit && phase == Phase::weightGradient)
      phase = Phase::inputGradient;
    phases[static_cast<int>(phase)].push_back(run);
  }
  for (int phase = 0; phase < phaseCount; ++phase) {
    // A phase has a time even without runs.
    begins[phase] = static_cast<int>(ops.size());
    ops.push_back(
        phases[phase].empty() ? 0 : execution.runs[phases[phase].front()].op);
    for (int run : phases[phase]) {
      times[run] = static_cast<int>(ops.size());
      ops.push_back(execution.runs[run].op);
    }
  }
  begins[phaseCount] = static_cast<int>(ops.size());
  differences.assign(ops.size() + 1, 0);
  gradients = differences;
}

int StageTimeline::getBlockBefore(const PlanningProblem &problem,
                                  int time) const {
  int begin = *std::prev(llvm::upper_bound(begins, time));
  auto getFirst = [&](int last) {
    int64_t block = problem.ops[ops[last]].block;
    while (last > begin && problem.ops[ops[last - 1]].block == block)
      --last;
    return last;
  };
  int first = getFirst(time);
  return first > begin ? getFirst(first - 1) : first;
}

void StageTimeline::add(int first, int last, int64_t bytes, bool isGradient) {
  differences[first] += bytes;
  differences[last + 1] -= bytes;
  if (isGradient) {
    gradients[first] += bytes;
    gradients[last + 1] -= bytes;
  }
  for (int border = 0; border < 2; ++border) {
    int next = begins[static_cast<int>(Phase::inputGradient) + border];
    if (first < next && last >= next)
      saved[border] += bytes;
  }
}

std::array<StageTimeline::Peak, StageTimeline::phaseCount>
StageTimeline::getPeaks() const {
  std::array<Peak, phaseCount> peaks;
  int64_t live = 0, ofGradients = 0;
  int phase = 0;
  for (int time = 0; time < static_cast<int>(ops.size()); ++time) {
    while (time >= begins[phase + 1])
      ++phase;
    live += differences[time];
    ofGradients += gradients[time];
    if (live > peaks[phase].bytes)
      peaks[phase] = {live, ofGradients, ops[time]};
  }
  return peaks;
}
