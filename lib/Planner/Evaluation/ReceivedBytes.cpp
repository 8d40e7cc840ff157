//===- ReceivedBytes.cpp - Messages that wait for their readers -----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "ReceivedBytes.h"

#include "Traffic.h"

#include "parplan/Pipeline/Transfers.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace parplan;

namespace {

/// Which pass of its position a pass is.
class PassNumbers {
public:
  explicit PassNumbers(const PipelineSchedule &schedule)
      : shape(schedule.shape),
        numbers(3 * shape.getStageCount() * shape.microBatches, 0) {
    for (int64_t position = 0; position < shape.positions; ++position)
      for (auto [number, pass] : llvm::enumerate(schedule.passes[position]))
        numbers[getCell(parplan::getStage(shape, position, pass.chunk),
                        getPhase(pass.kind), pass.microBatch)] =
            static_cast<int64_t>(number);
  }

  int64_t get(int64_t stage, Phase phase, int64_t microBatch) const {
    return numbers[getCell(stage, phase, microBatch)];
  }

private:
  /// Both gradients of an unsplit backward pass are one.
  size_t getCell(int64_t stage, Phase phase, int64_t microBatch) const {
    int part = phase == Phase::forward ? 0
               : phase == Phase::weightGradient && splitsBackward(shape.kind)
                   ? 2
                   : 1;
    return (stage * shape.microBatches + microBatch) * 3 + part;
  }

  const ScheduleShape &shape;
  std::vector<int64_t> numbers;
};

/// When a position hands on to a stage what it has of a micro-batch: by source,
/// stage and micro-batch.
using LastSends = std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t>;

} // namespace

static LastSends findLastSends(const std::vector<StageEdge> &edges,
                               const std::vector<Transfer> &transfers) {
  LastSends sends;
  for (const Transfer &transfer : transfers) {
    int64_t &last = sends[{transfer.source, edges[transfer.edge].destination,
                           transfer.microBatch}];
    last = std::max(last, transfer.sendBefore);
  }
  return sends;
}

std::vector<std::vector<int64_t>>
parplan::getReceivedBytes(const NumberedPlan &plan, const Execution &execution,
                          const PipelineSchedule &schedule) {
  std::vector<std::vector<int64_t>> bytes;
  for (const std::vector<Pass> &passes : schedule.passes)
    bytes.emplace_back(passes.size(), 0);
  if (schedule.shape.positions == 1)
    return bytes;
  PassNumbers numbers(schedule);
  std::vector<StageTraffic> traffic = getTraffic(plan, execution);
  std::vector<StageEdge> edges;
  for (const StageTraffic &part : traffic)
    edges.push_back({part.from, part.to});
  const PipelineChoice &planned = *plan.answer.pipeline;
  Timeline timeline = simulate(schedule, planned.times, planned.latencies);
  std::vector<Transfer> transfers = orderTransfers(schedule, timeline, edges);
  LastSends sends;
  if (llvm::any_of(traffic, [](const auto &part) { return part.next >= 0; }))
    sends = findLastSends(edges, transfers);
  for (const Transfer &transfer : transfers) {
    const StageTraffic &part = traffic[transfer.edge];
    // Mostly the pass before which it has to be there.
    bool isFirst = part.reader == part.to &&
                   (part.from < part.to ? part.phase == Phase::forward
                                        : part.phase == Phase::inputGradient);
    int64_t read =
        part.reader < 0 ? -1
        : isFirst       ? transfer.consumer
                  : numbers.get(part.reader, part.phase, transfer.microBatch);
    int64_t handedOn =
        part.next < 0
            ? -1
            : sends.at({transfer.destination, part.next, transfer.microBatch});
    for (int64_t pass = transfer.receiveBefore; pass < std::max(read, handedOn);
         ++pass)
      if (pass != read)
        bytes[transfer.destination][pass] += part.bytes;
  }
  return bytes;
}
