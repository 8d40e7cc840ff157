//===- TestShapes.h - Shapes that the tests go through ----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PIPELINE_TESTSHAPES_H
#define PARPLAN_TEST_UNIT_PIPELINE_TESTSHAPES_H

#include "parplan/Pipeline/Schedule.h"

namespace parplan::test {

/// The schedule of a name as in `--force schedule=`.
inline ScheduleShape makeShape(std::string_view name, int64_t positions,
                               int64_t microBatches) {
  ScheduleName parsed = parseScheduleName(name).value();
  return {parsed.kind, positions, microBatches, parsed.chunks};
}

/// Every kind, interleaved with 2 and with 4 chunks.
inline std::vector<std::string> getTestNames() {
  return {"gpipe",         "1f1b",  "1f1b-eager",  "interleaved:2",
          "interleaved:4", "zb-h1", "zb-h2",       "zb-v",
          "v-half",        "v-min", "forward-only"};
}

inline std::string describe(const ScheduleShape &shape) {
  return printScheduleName(shape) + " p=" + std::to_string(shape.positions) +
         " m=" + std::to_string(shape.microBatches);
}

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PIPELINE_TESTSHAPES_H
