//===- PeakMoments.cpp - When positions have most bytes -------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PeakMoments.h"

#include "parplan/Planner/ScheduleBounds.h"

using namespace parplan;

Moment parplan::getFirstBackward(const ScheduleShape &shape, int64_t position) {
  return {getLeastInFlight(shape, position),
          std::vector<int64_t>(shape.chunks, 0)};
}

std::vector<Moment>
parplan::findPeakMoments(const PipelineSchedule &schedule,
                         const std::vector<CostVector> &ofStages) {
  const ScheduleShape &shape = schedule.shape;
  std::vector<Moment> moments;
  for (int64_t position = 0; position < shape.positions; ++position) {
    std::vector<int64_t> none(shape.chunks, 0);
    Moment now{none, none}, peak = now;
    double bytes = 0, most = -1;
    auto note = [&] {
      if (bytes <= most)
        return;
      most = bytes;
      peak = now;
    };
    for (const Pass &pass : schedule.passes[position]) {
      const CostVector &cost = ofStages[getStage(shape, position, pass.chunk)];
      bool isForward = pass.kind == PassKind::forward;
      bool endsWaiting = pass.kind == PassKind::weightGradient;
      if (isForward) {
        ++now.inFlight[pass.chunk];
        bytes += cost.savedBytes;
      } else if (endsWaiting) {
        --now.waiting[pass.chunk];
        bytes -= cost.waitingBytes;
      } else {
        --now.inFlight[pass.chunk];
        bytes -= cost.savedBytes;
        if (pass.kind == PassKind::inputGradient) {
          ++now.waiting[pass.chunk];
          bytes += cost.waitingBytes;
        }
      }
      note();
    }
    moments.push_back(std::move(peak));
  }
  return moments;
}
