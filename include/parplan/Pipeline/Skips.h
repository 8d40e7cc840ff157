//===- Skips.h - Values that skip stages ------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// A value of stage a that stages behind a + 1 read can go to each of them in a
// message of its own, or be handed on from stage to stage. S bytes, read by
// stage c alone, or by all stages from a + 1 to c:
//
//            read by c                        read by all
//   direct   S in all; waits at c for up      (c - a) S, all of them sent by a
//            to c - a micro-batches
//   relay    (c - a) S in all; waits as       (c - a) S, S sent by each
//            messages of neighbours do
//
// Gradients go the same ways back.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PIPELINE_SKIPS_H
#define PARPLAN_PIPELINE_SKIPS_H

#include "parplan/Pipeline/Transfers.h"

namespace parplan {

/// The edges by which stages hand on what goes directly along `skips`, all from
/// one stage and in one direction. A position gets it once.
std::vector<StageEdge> getRelayEdges(const ScheduleShape &shape,
                                     const std::vector<StageEdge> &skips);

/// What one way of a value costs, for each position.
struct SkipPrice {
  /// Of a micro-batch; links are duplex.
  std::vector<int64_t> sentBytes, receivedBytes;
  /// In which it waits at a position for the stage that reads it.
  std::vector<int64_t> waitingBytes;

  /// Bytes of a micro-batch over the busiest link.
  int64_t getBusiestBytes() const;
  /// Where most waits.
  int64_t getMostWaitingBytes() const;
  /// Of two values.
  void add(const SkipPrice &other);
};

/// Of a value of so many bytes that goes along `edges`.
SkipPrice priceSkips(const PipelineSchedule &schedule, const Timeline &timeline,
                     const std::vector<StageEdge> &edges, int64_t bytes,
                     const Latencies &latencies = {});

/// True if handing on is the cheaper way: where `mostWaitingBytes` at a
/// position hold only what waits of it, or else where its busiest link has less
/// to do.
bool isRelayCheaper(const SkipPrice &direct, const SkipPrice &relay,
                    std::optional<int64_t> mostWaitingBytes = std::nullopt);

} // namespace parplan

#endif // PARPLAN_PIPELINE_SKIPS_H
