//===- PeakMoments.cpp - When positions have most bytes -------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PeakMoments.h"

#include "parplan/Planner/ScheduleBounds.h"

using namespace parplan;

Moment parplan::getFirstBackward(const ScheduleShape &shape, int64_t position) {
  std::vector<int64_t> inFlight = getLeastInFlight(shape, position);
  return {{inFlight.begin(), inFlight.end()},
          std::vector<double>(shape.chunks, 0)};
}

std::vector<Moment>
parplan::findPeakMoments(const PipelineSchedule &schedule,
                         const std::vector<CostVector> &ofStages) {
  const ScheduleShape &shape = schedule.shape;
  std::vector<Moment> moments;
  for (int64_t position = 0; position < shape.positions; ++position) {
    std::vector<double> none(shape.chunks, 0);
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

void parplan::addToMean(Moment &mean, const Moment &moment, int64_t count) {
  auto add = [&](std::vector<double> &means,
                 const std::vector<double> &values) {
    for (size_t chunk = 0; chunk < means.size(); ++chunk)
      means[chunk] +=
          (values[chunk] - means[chunk]) / static_cast<double>(count + 1);
  };
  add(mean.inFlight, moment.inFlight);
  add(mean.waiting, moment.waiting);
}
