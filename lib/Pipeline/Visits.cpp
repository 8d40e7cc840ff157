//===- Visits.cpp - Runs of backward passes of one chunk ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Pipeline/Visits.h"

#include <algorithm>

using namespace parplan;

std::vector<Visit> parplan::findVisits(const PipelineSchedule &schedule,
                                       int64_t position) {
  std::vector<Visit> visits;
  const std::vector<Pass> &passes = schedule.passes[position];
  for (size_t index = 0; index < passes.size(); ++index) {
    const Pass &pass = passes[index];
    if (pass.kind != PassKind::backward &&
        pass.kind != PassKind::weightGradient)
      continue;
    if (visits.empty() || visits.back().chunk != pass.chunk)
      visits.push_back({pass.chunk, {}});
    visits.back().passes.push_back(static_cast<int64_t>(index));
  }
  return visits;
}

int64_t parplan::countVisits(const PipelineSchedule &schedule, int64_t stage) {
  std::vector<Visit> visits =
      findVisits(schedule, getPosition(schedule.shape, stage));
  int64_t chunk = getChunk(schedule.shape, stage);
  return std::count_if(visits.begin(), visits.end(), [&](const Visit &visit) {
    return visit.chunk == chunk;
  });
}
