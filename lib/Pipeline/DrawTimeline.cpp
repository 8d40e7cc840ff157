//===- DrawTimeline.cpp - A schedule as a picture in text -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Pipeline/Timeline.h"

#include "parplan/Support/Check.h"

#include <algorithm>
#include <cmath>

using namespace parplan;

namespace {

char getLetter(const Pass &pass) {
  bool isOdd = pass.chunk % 2 != 0;
  switch (pass.kind) {
  case PassKind::forward:
    return isOdd ? 'f' : 'F';
  case PassKind::backward:
    return isOdd ? 'd' : 'D';
  case PassKind::inputGradient:
    return isOdd ? 'b' : 'B';
  case PassKind::weightGradient:
    return isOdd ? 'w' : 'W';
  }
  PARPLAN_UNREACHABLE("kind of pass ", static_cast<int>(pass.kind));
}

} // namespace

std::string parplan::drawTimeline(const PipelineSchedule &schedule,
                                  const Timeline &timeline, int64_t columns) {
  double scale = timeline.makespanSeconds > 0
                     ? static_cast<double>(columns) / timeline.makespanSeconds
                     : 0;
  auto getColumn = [&](double seconds) {
    return std::min<int64_t>(std::llround(seconds * scale), columns);
  };
  std::string text;
  for (size_t position = 0; position != schedule.passes.size(); ++position) {
    std::string row(columns, '.');
    for (size_t index = 0; index != schedule.passes[position].size(); ++index) {
      const Timeline::Interval &interval = timeline.passes[position][index];
      for (int64_t column = getColumn(interval.startSeconds);
           column < getColumn(interval.endSeconds); ++column)
        row[column] = getLetter(schedule.passes[position][index]);
    }
    text += concat(position, " |", row, "\n");
  }
  return text;
}
