//===- Resources.cpp - Memory, counts and order of a program --------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "lib/Simulator/Issue.h"

#include "parplan/Simulator/Simulator.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Sha256.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace parplan;

namespace {

/// First and last statement that touches a buffer.
struct LiveRange {
  int64_t first = -1;
  int64_t last = -1;
};

std::vector<LiveRange> findLiveRanges(const Program &program,
                                      const RankClass &rankClass) {
  std::vector<LiveRange> ranges(
      program.programs[static_cast<size_t>(rankClass.program)].buffers.size());
  forEachIssue(program, rankClass,
               [&](const ProgramStatement &statement, const Issue &issue) {
                 for (int buffer : statement.buffers) {
                   LiveRange &range = ranges[static_cast<size_t>(buffer)];
                   if (range.first == -1)
                     range.first = issue.statement;
                   range.last = issue.statement;
                 }
               });
  return ranges;
}

void predictMemory(const RankProgram &program,
                   const std::vector<LiveRange> &ranges,
                   RankPrediction &prediction) {
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const ProgramBuffer &buffer = program.buffers[i];
    if (!buffer.isResident && ranges[i].first == -1)
      continue;
    int64_t end = buffer.offset + buffer.bytes;
    if (buffer.tier == MemoryTier::host)
      prediction.hostPeakBytes = std::max(prediction.hostPeakBytes, end);
    else if (buffer.tier == MemoryTier::nvme)
      prediction.nvmePeakBytes = std::max(prediction.nvmePeakBytes, end);
  }
  auto isTouched = [&](size_t i) {
    return program.buffers[i].tier == MemoryTier::device &&
           (program.buffers[i].isResident || ranges[i].first != -1);
  };
  // The highest end, and when a buffer with that end is touched first.
  int64_t peak = 0, moment = -1;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const ProgramBuffer &buffer = program.buffers[i];
    if (!isTouched(i))
      continue;
    int64_t end = buffer.offset + buffer.bytes;
    int64_t first = buffer.isResident ? -1 : ranges[i].first;
    if (end > peak || (end == peak && first < moment)) {
      peak = end;
      moment = first;
    }
  }
  prediction.peakBytes = peak;

  MemoryByUse &memory = prediction.memory;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const ProgramBuffer &buffer = program.buffers[i];
    bool isLive = isTouched(i) &&
                  (buffer.isResident ||
                   (ranges[i].first <= moment && moment <= ranges[i].last));
    if (!isLive)
      continue;
    switch (buffer.use) {
    case BufferUse::parameter:
      memory.parameters += buffer.bytes;
      break;
    case BufferUse::gradient:
      memory.gradients += buffer.bytes;
      break;
    case BufferUse::optimizer:
      memory.optimizer += buffer.bytes;
      break;
    case BufferUse::workspace:
      memory.workspace += buffer.bytes;
      break;
    case BufferUse::activation:
      break;
    }
  }
  memory.activations =
      std::max<int64_t>(0, peak - memory.parameters - memory.gradients -
                               memory.optimizer - memory.workspace);
}

void predictTraffic(const Program &program, const RankClass &rankClass,
                    RankPrediction &prediction) {
  OffloadCount &offload = prediction.offload;
  Sha256 order;
  forEachIssue(
      program, rankClass,
      [&](const ProgramStatement &statement, const Issue &) {
        if (statement.kind == StatementKind::transfer) {
          (statement.to == MemoryTier::device     ? offload.hostToDeviceBytes
           : statement.to == MemoryTier::nvme     ? offload.nvmeWriteBytes
           : statement.from == MemoryTier::device ? offload.deviceToHostBytes
                                                  : offload.nvmeReadBytes) +=
              statement.bytes;
        } else if (statement.kind == StatementKind::communicate) {
          CommunicationCount &count =
              prediction.communication[statement.collective];
          ++count.calls;
          count.bytes += statement.bytes;
          order.update(concat(
              stringifyCollectiveKind(statement.collective), " ",
              program.communicators[static_cast<size_t>(statement.communicator)]
                  .name,
              " ", statement.bytes, "\n"));
        }
      });
  prediction.orderDigest = order.finishHex();
}

bool leavesOutLaunchesAlone(const Program &program,
                            const RankClass &rankClass) {
  const std::vector<ProgramStatement> &statements =
      program.programs[static_cast<size_t>(rankClass.program)].statements;
  return llvm::all_of(rankClass.leftOut, [&](int64_t statement) {
    return statements[static_cast<size_t>(statement)].kind ==
           StatementKind::launch;
  });
}

} // namespace

Prediction parplan::predictResources(const Program &program) {
  if (std::optional<std::string> fault = verifyProgram(program))
    PARPLAN_UNREACHABLE("a program that cannot be simulated: ", *fault);
  Prediction prediction;
  prediction.rankCount = program.mesh.getRankCount();
  std::vector<RankPrediction> ofClasses;
  // Of each program the traffic of all its calls: most classes have it.
  std::map<int64_t, RankPrediction> whole;
  for (const RankClass &each : program.classes) {
    RankPrediction &result = ofClasses.emplace_back();
    if (leavesOutLaunchesAlone(program, each)) {
      auto [known, isNew] = whole.try_emplace(each.program);
      if (isNew)
        predictTraffic(program, each, known->second);
      result = known->second;
    } else {
      predictTraffic(program, each, result);
    }
    const RankProgram &own =
        program.programs[static_cast<size_t>(each.program)];
    result.lowerBounds = own.arenaBounds;
    predictMemory(own, findLiveRanges(program, each), result);
  }
  for (int64_t each : program.classOf)
    prediction.ranks.push_back(ofClasses[static_cast<size_t>(each)]);
  if (program.classOf.empty())
    prediction.ranks = std::move(ofClasses);
  return prediction;
}
