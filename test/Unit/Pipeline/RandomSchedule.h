//===- RandomSchedule.h - Random shapes, cuts and times ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PIPELINE_RANDOMSCHEDULE_H
#define PARPLAN_TEST_UNIT_PIPELINE_RANDOMSCHEDULE_H

#include "TestShapes.h"

#include "parplan/Pipeline/Transfers.h"

#include <random>

namespace parplan::test {

/// The schedule, edges and seconds that a seed draws.
class RandomSchedule {
public:
  explicit RandomSchedule(uint64_t seed, int64_t mostPositions = 8,
                          int64_t mostMicroBatches = 20)
      : random(seed) {
    do {
      std::vector<std::string> names = getTestNames();
      shape = makeShape(names[draw(0, names.size() - 1)],
                        draw(1, mostPositions), draw(1, mostMicroBatches));
      if (shape.kind == ScheduleKind::interleaved)
        shape.chunks = draw(2, 4);
    } while (getRefusal(shape));
    times = makeTimes();
    std::vector<double> boundaries;
    for (int64_t boundary = 0; boundary + 1 < shape.getStageCount(); ++boundary)
      boundaries.push_back(drawSeconds());
    latencies = boundaries;
    if (splitsBackward(shape.kind) && draw(0, 2) != 0)
      room = makeRoom();
    schedule = makeSchedule(shape, times, latencies, room);
    edges = makeEdges();
  }

  int64_t draw(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  }

  /// Passes that take nothing, about the same, and much longer ones.
  double drawSeconds() {
    int64_t kind = draw(0, 9);
    if (kind == 0)
      return 0;
    double most = kind == 1 ? 10 : 1;
    return std::uniform_real_distribution<double>(0.1, most)(random);
  }

  StageTimes makeTimes() {
    StageTimes made;
    for (int64_t stage = 0; stage != shape.getStageCount(); ++stage)
      made.push_back({drawSeconds(), drawSeconds(), drawSeconds()});
    return made;
  }

  /// For nothing that waits, for all, or in between.
  WaitingRoom makeRoom() {
    WaitingRoom made;
    for (int64_t stage = 0; stage != shape.getStageCount(); ++stage) {
      int64_t saved = draw(0, 9), waiting = draw(0, 9);
      made.stages.push_back({saved, waiting, saved + draw(0, 3),
                             std::max(saved, waiting) + draw(0, 3),
                             waiting + draw(0, 3)});
    }
    for (int64_t position = 0; position != shape.positions; ++position)
      made.positionBytes.push_back(draw(0, 9 * shape.microBatches));
    return made;
  }

  /// A cut: one or more values over each boundary, some that skip stages; all
  /// but some have gradients.
  std::vector<StageEdge> makeEdges() {
    std::vector<StageEdge> made = getChainEdges(shape);
    int64_t stages = shape.getStageCount();
    for (int64_t count = stages > 1 ? draw(0, 4) : 0; count != 0; --count) {
      int64_t from = draw(0, stages - 2), to = draw(from + 1, stages - 1);
      made.push_back({from, to});
      if (hasBackward(shape.kind) && draw(0, 2) != 0)
        made.push_back({to, from});
    }
    return made;
  }

  std::mt19937 random;
  ScheduleShape shape;
  StageTimes times;
  Latencies latencies;
  WaitingRoom room;
  PipelineSchedule schedule;
  std::vector<StageEdge> edges;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PIPELINE_RANDOMSCHEDULE_H
