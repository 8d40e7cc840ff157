//===- Resources.cpp - Memory, counts and order of a program --------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Simulator/Simulator.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Sha256.h"

#include <algorithm>

using namespace parplan;

namespace {

/// First and last statement that touches a buffer.
struct LiveRange {
  int64_t first = -1;
  int64_t last = -1;
};

std::vector<LiveRange> findLiveRanges(const RankProgram &program,
                                      const std::vector<int64_t> &leftOut) {
  std::vector<LiveRange> ranges(program.buffers.size());
  auto count = static_cast<int64_t>(program.statements.size());
  auto next = leftOut.begin();
  for (int64_t i = 0; i < count; ++i) {
    if (next != leftOut.end() && *next == i) {
      ++next;
      continue;
    }
    for (int buffer : program.statements[static_cast<size_t>(i)].buffers) {
      LiveRange &range = ranges[static_cast<size_t>(buffer)];
      if (range.first == -1)
        range.first = i;
      range.last = i;
    }
  }
  return ranges;
}

void predictMemory(const RankProgram &program,
                   const std::vector<int64_t> &leftOut,
                   RankPrediction &prediction) {
  std::vector<LiveRange> ranges = findLiveRanges(program, leftOut);
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

OffloadCount countOffload(const RankProgram &program) {
  OffloadCount count;
  for (const ProgramStatement &statement : program.statements) {
    if (statement.kind != StatementKind::transfer)
      continue;
    (statement.to == MemoryTier::device     ? count.hostToDeviceBytes
     : statement.to == MemoryTier::nvme     ? count.nvmeWriteBytes
     : statement.from == MemoryTier::device ? count.deviceToHostBytes
                                            : count.nvmeReadBytes) +=
        statement.bytes;
  }
  return count;
}

void predictCommunication(const RankProgram &program,
                          const std::vector<ProgramCommunicator> &communicators,
                          RankPrediction &prediction) {
  Sha256 order;
  for (const ProgramStatement &statement : program.statements) {
    if (statement.kind != StatementKind::communicate)
      continue;
    CommunicationCount &count = prediction.communication[statement.collective];
    ++count.calls;
    count.bytes += statement.bytes;
    order.update(
        concat(stringifyCollectiveKind(statement.collective), " ",
               communicators[static_cast<size_t>(statement.communicator)].name,
               " ", statement.bytes, "\n"));
  }
  prediction.orderDigest = order.finishHex();
}

} // namespace

Prediction parplan::predictResources(const Program &program) {
  if (std::optional<std::string> fault = verifyProgram(program))
    PARPLAN_UNREACHABLE("a program that cannot be simulated: ", *fault);
  Prediction prediction;
  prediction.rankCount = program.mesh.getRankCount();
  // What is left out are launches: the rest is the same for all of a program.
  std::vector<RankPrediction> ofPrograms, ofClasses;
  for (const RankProgram &each : program.programs) {
    RankPrediction &result = ofPrograms.emplace_back();
    result.lowerBounds = each.arenaBounds;
    result.offload = countOffload(each);
    predictCommunication(each, program.communicators, result);
  }
  for (const RankClass &each : program.classes) {
    auto number = static_cast<size_t>(each.program);
    ofClasses.push_back(ofPrograms[number]);
    predictMemory(program.programs[number], each.leftOut, ofClasses.back());
  }
  for (int64_t each : program.classOf)
    prediction.ranks.push_back(ofClasses[static_cast<size_t>(each)]);
  if (program.classOf.empty())
    prediction.ranks = std::move(ofClasses);
  return prediction;
}
