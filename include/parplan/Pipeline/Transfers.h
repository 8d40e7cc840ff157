//===- Transfers.h - One order of all messages ------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// Messages sent where they are made and received where they are used deadlock
// without buffers in most schedules. In one total order that all positions
// share they cannot: a wait for a message, or for a pass, always points to
// something earlier in an order that contains all messages and all passes.
// The order is that of the simulated ends of producers; that real times differ
// changes when things happen, not the order.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PIPELINE_TRANSFERS_H
#define PARPLAN_PIPELINE_TRANSFERS_H

#include "parplan/Pipeline/Timeline.h"

namespace parplan {

/// A value that one virtual stage makes and another one reads, for every
/// micro-batch. From a lower to a higher stage: made and read by forward
/// passes; from a higher to a lower one: a gradient, made and read by backward
/// passes (input gradients where they are split).
struct StageEdge {
  int64_t source = 0;
  int64_t destination = 0;

  bool operator==(const StageEdge &other) const = default;
};

/// Of every stage to the next one and back (no way back in forward-only
/// schedules): what a chain of layers needs.
std::vector<StageEdge> getChainEdges(const ScheduleShape &shape);

/// One message.
struct Transfer {
  /// Index into the edges.
  int64_t edge = 0;
  int64_t microBatch = 0;
  /// Positions; never equal.
  int64_t source = 0;
  int64_t destination = 0;
  /// Simulated end of the producer.
  double readySeconds = 0;
  /// Indices into the passes of the source and of the destination.
  int64_t producer = 0;
  int64_t consumer = 0;
  /// Where the send and the receive stand: before these passes (the number of
  /// passes: after the last one), after all transfers that come earlier in the
  /// total order. The send follows its producer, the receive precedes its
  /// consumer, and both ascend along the total order on every position.
  int64_t sendBefore = 0;
  int64_t receiveBefore = 0;
  /// The next transfer of both positions is one between them the other way, and
  /// both are issued together.
  bool withNext = false;
};

/// All messages of a step between different positions, in the total order:
/// by the end of the producer. Edges of one pair of stages keep their order.
std::vector<Transfer> orderTransfers(const PipelineSchedule &schedule,
                                     const Timeline &timeline,
                                     const std::vector<StageEdge> &edges);
std::vector<Transfer> orderTransfers(const PipelineSchedule &schedule,
                                     const Timeline &timeline);

/// Joins transfers that follow each other between two positions, there and
/// back, where the second is ready while the first one is under way: both then
/// use the link at once, which is duplex. The first one moves to the place of
/// the second; it must still precede its consumer. The order stays.
void groupOpposite(const PipelineSchedule &schedule,
                   const std::vector<StageEdge> &edges,
                   const Latencies &latencies,
                   std::vector<Transfer> &transfers);

/// What is wrong with these transfers as the messages of the schedule, or none.
/// Checked: one for every edge between different positions and micro-batch, no
/// other; sends stand after their producers, receives before their consumers,
/// both ascend on every position, but that groups stand at one place; and when
/// every position does one thing after the other, passes and calls alike, and a
/// message takes both sides at once, all of them come to their end.
std::optional<std::string>
verifyTransfers(const PipelineSchedule &schedule,
                const std::vector<StageEdge> &edges,
                const std::vector<Transfer> &transfers);

/// Messages that have arrived at a position and are not used yet, at most: its
/// receive buffers if all are received as soon as they are sent.
int64_t countWaitingMessages(const PipelineSchedule &schedule,
                             const Timeline &timeline, int64_t position,
                             const Latencies &latencies = {});
/// The same of one edge, at the position of its destination.
int64_t countWaitingMessages(const PipelineSchedule &schedule,
                             const Timeline &timeline, const StageEdge &edge,
                             const Latencies &latencies = {});

/// One position's part of a message.
struct TransferCall {
  bool isSend = false;
  /// Index into the transfers.
  int64_t transfer = 0;

  bool operator==(const TransferCall &other) const = default;
};
/// For each position the calls that it issues, in groups: the calls of a group
/// are issued together and all must complete before the next group.
using TransferPrograms = std::vector<std::vector<std::vector<TransferCall>>>;

/// Every position issues its transfers in the given order, one by one, but for
/// those that stand with the next one.
TransferPrograms issueInOrder(const ScheduleShape &shape,
                              const std::vector<Transfer> &transfers);
/// Receives right before their use, sends right after their producer, as
/// textbooks have it. `isGrouped` joins the sends after one pass with the
/// receives before the next one.
TransferPrograms issueAtUse(const PipelineSchedule &schedule,
                            const std::vector<Transfer> &transfers,
                            bool isGrouped);

/// Runs the calls: a send completes when its receive is posted, or when fewer
/// than `depth` earlier messages of its channel (source, destination, forward
/// or back) are stored. False if that never ends.
bool completes(const TransferPrograms &programs,
               const std::vector<Transfer> &transfers,
               const std::vector<StageEdge> &edges, int64_t depth);

} // namespace parplan

#endif // PARPLAN_PIPELINE_TRANSFERS_H
