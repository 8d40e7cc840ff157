//===- VerifyTransfers.cpp - Do the messages fit the schedule -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "PassTable.h"

#include "parplan/Pipeline/Transfers.h"

#include "parplan/Support/Check.h"

#include <algorithm>

using namespace parplan;

namespace {

std::string printTransfer(const Transfer &transfer,
                          const std::vector<StageEdge> &edges) {
  return concat("the message of micro-batch ", transfer.microBatch,
                " from stage ", edges[transfer.edge].source, " to stage ",
                edges[transfer.edge].destination);
}

/// The messages that the edges ask for, each once, between the right passes.
std::optional<std::string>
verifyMatching(const PipelineSchedule &schedule,
               const std::vector<StageEdge> &edges,
               const std::vector<Transfer> &transfers) {
  const ScheduleShape &shape = schedule.shape;
  PassTable table(schedule);
  std::vector<bool> isThere(edges.size() * shape.microBatches, false);
  for (const Transfer &transfer : transfers) {
    if (transfer.edge < 0 ||
        transfer.edge >= static_cast<int64_t>(edges.size()) ||
        transfer.microBatch < 0 || transfer.microBatch >= shape.microBatches)
      return "a message that no edge asks for";
    const StageEdge &edge = edges[transfer.edge];
    bool isBack = edge.source > edge.destination;
    if (transfer.source != getPosition(shape, edge.source) ||
        transfer.destination != getPosition(shape, edge.destination) ||
        transfer.source == transfer.destination ||
        transfer.producer !=
            table.find(edge.source, transfer.microBatch, isBack) ||
        transfer.consumer !=
            table.find(edge.destination, transfer.microBatch, isBack))
      return concat(printTransfer(transfer, edges),
                    " is not between its positions and passes");
    size_t cell = transfer.edge * shape.microBatches + transfer.microBatch;
    if (isThere[cell])
      return concat(printTransfer(transfer, edges), " is there twice");
    isThere[cell] = true;
  }
  for (size_t edge = 0; edge != edges.size(); ++edge)
    for (int64_t batch = 0; batch != shape.microBatches; ++batch)
      if (!isThere[edge * shape.microBatches + batch] &&
          getPosition(shape, edges[edge].source) !=
              getPosition(shape, edges[edge].destination))
        return concat("there is no message of micro-batch ", batch,
                      " from stage ", edges[edge].source, " to stage ",
                      edges[edge].destination);
  return std::nullopt;
}

/// What stands with the next transfer stands at one place with it, on both
/// positions, and it is the other way.
std::optional<std::string> verifyGroups(const std::vector<Transfer> &transfers,
                                        const std::vector<StageEdge> &edges) {
  for (size_t index = 0; index != transfers.size(); ++index) {
    const Transfer &first = transfers[index];
    if (!first.withNext)
      continue;
    auto isAtEitherEnd = [&](const Transfer &other) {
      return other.source == first.source ||
             other.source == first.destination ||
             other.destination == first.source ||
             other.destination == first.destination;
    };
    auto second = std::find_if(transfers.begin() + index + 1, transfers.end(),
                               isAtEitherEnd);
    if (second == transfers.end() || second->source != first.destination ||
        second->destination != first.source || second->withNext ||
        second->sendBefore != first.receiveBefore ||
        second->receiveBefore != first.sendBefore)
      return concat(printTransfer(first, edges),
                    " is issued with one that is not its way back");
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string>
parplan::verifyTransfers(const PipelineSchedule &schedule,
                         const std::vector<StageEdge> &edges,
                         const std::vector<Transfer> &transfers) {
  if (auto problem = verifyMatching(schedule, edges, transfers))
    return problem;
  // How many passes each position has behind it at its last call.
  std::vector<int64_t> reached(schedule.shape.positions, 0);
  for (const Transfer &transfer : transfers) {
    if (transfer.sendBefore <= transfer.producer)
      return concat(printTransfer(transfer, edges),
                    " is sent before it is made");
    if (transfer.receiveBefore > transfer.consumer)
      return concat(printTransfer(transfer, edges),
                    " is received after it is used");
    if (transfer.sendBefore < reached[transfer.source] ||
        transfer.receiveBefore < reached[transfer.destination])
      return concat(printTransfer(transfer, edges),
                    " stands against the total order");
    reached[transfer.source] = transfer.sendBefore;
    reached[transfer.destination] = transfer.receiveBefore;
  }
  if (auto problem = verifyGroups(transfers, edges))
    return problem;
  // Messages and passes are in one order that every position follows, in which
  // each stands after what it needs. So each comes to its end, one after the
  // other, without a buffer.
  return std::nullopt;
}
