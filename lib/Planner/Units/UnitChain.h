//===- UnitChain.h - The units of a model in a row --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITCHAIN_H
#define PARPLAN_LIB_PLANNER_UNITCHAIN_H

#include "parplan/Planner/SearchModel.h"

namespace parplan {

/// Unit instances, from the first to before the last.
struct UnitRange {
  int first = 0, end = 0;
};

/// The types of a row of units, and which of them the stages of a schedule
/// have. What is between the ends are the blocks; with several chunks per
/// position all chunks of a position have equally many of them.
///
///   loop, v = 2:  head b0 b1 | b2 | b3 b4 | b5 tail    positions 0 1 0 1
class UnitChain {
public:
  /// Appends `count` instances of a type.
  void add(int type, int64_t count, bool isEnd);

  int getInstanceCount() const { return static_cast<int>(types.size()); }
  int getTypeCount() const { return typeCount; }
  int getType(int instance) const { return types[instance]; }
  /// Instances that stages share out.
  int64_t getBlockCount() const { return getInstanceCount() - head - tail; }

  /// The blocks that the chunks of all positions have together, one of each
  /// position; 0: the schedule does not fit.
  int64_t getBlocksPerChunk(const ScheduleShape &shape) const;

  /// Of each chunk of a position that has `count` blocks per chunk, behind
  /// `before` of the positions before it.
  std::vector<UnitRange> getContent(const ScheduleShape &shape, int64_t before,
                                    int64_t count) const;
  /// Of one chunk.
  UnitRange getContent(const ScheduleShape &shape, int64_t before,
                       int64_t count, int64_t chunk) const;

  /// The first instance of every virtual stage.
  std::vector<int> getCuts(const ScheduleShape &shape,
                           const std::vector<int64_t> &counts) const;

private:
  std::vector<int> types;
  int typeCount = 0, head = 0, tail = 0;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITCHAIN_H
