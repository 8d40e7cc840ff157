//===- Refusals.cpp - Shapes that cannot be, and the nearest that can -----===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Pipeline/Schedule.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

#include <algorithm>

using namespace parplan;

namespace {

std::string printShape(const ScheduleShape &shape) {
  return concat("pp=", shape.positions, ",schedule=", printScheduleName(shape));
}

/// Of a shape with too many stages: fewer chunks of an interleaved schedule
/// where that is enough, else fewer positions, on one chunk if need be.
std::string printNearest(ScheduleShape shape, int64_t mostStages) {
  int64_t required = getRequiredChunks(shape.kind);
  if (required <= 0)
    shape.chunks = std::clamp<int64_t>(mostStages / shape.positions,
                                       required == 0 ? 2 : 1, shape.chunks);
  shape.positions = std::min(shape.positions, mostStages / shape.chunks);
  if (shape.positions > 1 || (shape.positions == 1 && shape.chunks == 1))
    return printShape(shape);
  // Two chunks on one position are no pipeline.
  return printShape({ScheduleKind::oneForwardOneBackward,
                     std::max<int64_t>(mostStages, 1), shape.microBatches, 1});
}

} // namespace

std::optional<std::string>
parplan::getRefusal(const ScheduleShape &shape,
                    std::optional<int64_t> mostStages) {
  std::string name = printScheduleName(shape);
  if (shape.positions < 1)
    return concat("a pipeline of ", shape.positions,
                  " stages cannot be; nearest possible: pp=1");
  if (shape.microBatches < 1)
    return concat("a step of ", shape.microBatches,
                  " micro-batches cannot be; nearest possible: "
                  "micro-batches=1");
  int64_t required = getRequiredChunks(shape.kind);
  if (required > 0 && shape.chunks != required)
    return concat("schedule ", name, " has ", required,
                  required == 1 ? " chunk" : " chunks", " per stage, not ",
                  shape.chunks, "; nearest possible: schedule=",
                  required == 1 ? concat("interleaved:",
                                         std::max<int64_t>(shape.chunks, 2))
                                : name);
  if (shape.chunks < 1)
    return concat("schedule ", name,
                  " needs at least one chunk per stage; "
                  "nearest possible: schedule=",
                  printScheduleName(shape.kind, required == 0 ? 2 : 1));
  if (required == 0 && shape.chunks < 2)
    return concat("schedule ", name,
                  " has one chunk per stage, so that there is nothing to "
                  "interleave; nearest possible: schedule=1f1b or "
                  "schedule=interleaved:2");
  if (shape.positions == 1 && shape.chunks > 1)
    return concat("schedule ", name,
                  " needs at least 2 pipeline stages, not 1; nearest "
                  "possible: pp=2 or schedule=1f1b");
  if (mostStages && shape.getStageCount() > *mostStages) {
    std::string product =
        shape.chunks > 1 ? concat(" stages of ", shape.chunks, " chunks each")
                         : concat(" stages");
    return concat(
        shape.positions, product, " need ", shape.getStageCount(),
        " parts of the model, which can be cut into ", *mostStages,
        " at most; nearest possible: ", printNearest(shape, *mostStages));
  }
  return std::nullopt;
}
