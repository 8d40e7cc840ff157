//===- PassTable.h - Where a pass stands ------------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PIPELINE_PASSTABLE_H
#define PARPLAN_LIB_PIPELINE_PASSTABLE_H

#include "parplan/Pipeline/Schedule.h"

namespace parplan {

/// From a stage and a micro-batch to the index of its forward pass, or of the
/// pass that makes the gradient of its input, in the list of its position.
class PassTable {
public:
  explicit PassTable(const PipelineSchedule &schedule)
      : shape(schedule.shape),
        indices(2 * shape.getStageCount() * shape.microBatches, -1) {
    for (int64_t position = 0; position != shape.positions; ++position) {
      const std::vector<Pass> &list = schedule.passes[position];
      for (size_t index = 0; index != list.size(); ++index) {
        const Pass &pass = list[index];
        if (pass.kind != PassKind::weightGradient)
          indices[getCell(getStage(shape, position, pass.chunk),
                          pass.microBatch, pass.kind != PassKind::forward)] =
              static_cast<int64_t>(index);
      }
    }
  }

  /// -1: there is none.
  int64_t find(int64_t stage, int64_t microBatch, bool isBack) const {
    return indices[getCell(stage, microBatch, isBack)];
  }

private:
  size_t getCell(int64_t stage, int64_t microBatch, bool isBack) const {
    return (stage * shape.microBatches + microBatch) * 2 + isBack;
  }

  const ScheduleShape &shape;
  std::vector<int64_t> indices;
};

} // namespace parplan

#endif // PARPLAN_LIB_PIPELINE_PASSTABLE_H
