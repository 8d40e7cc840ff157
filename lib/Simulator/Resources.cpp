//===- Resources.cpp - Memory, counts and order of a program --------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "lib/Simulator/IssuedStatements.h"

#include "parplan/Simulator/Simulator.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Sha256.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>

using namespace parplan;

namespace {

/// First and last statement that touches a buffer.
struct LiveRange {
  int64_t first = -1;
  int64_t last = -1;
};

/// Those of the classes that run one program: most of it is the same for all.
class LiveRanges {
public:
  LiveRanges(const Program &program, int64_t number)
      : own(program.programs[static_cast<size_t>(number)]),
        common(own.buffers.size()) {
    std::set<int64_t> sometimes;
    for (const RankClass &each : program.classes)
      if (each.program == number)
        sometimes.insert(each.leftOut.begin(), each.leftOut.end());
    optional.assign(sometimes.begin(), sometimes.end());
    forEachIssued(
        program, {number, /*firstRank=*/0, optional},
        [&](const IssuedStatement &issued) { touch(common, issued.index); });
  }

  /// Of a class that runs the program.
  std::vector<LiveRange> get(const RankClass &rankClass) const {
    std::vector<LiveRange> ranges = common;
    for (int64_t index : optional)
      if (!llvm::binary_search(rankClass.leftOut, index))
        touch(ranges, index);
    return ranges;
  }

private:
  void touch(std::vector<LiveRange> &ranges, int64_t index) const {
    for (int buffer : own.statements[static_cast<size_t>(index)].buffers) {
      LiveRange &range = ranges[static_cast<size_t>(buffer)];
      if (range.first == -1 || index < range.first)
        range.first = index;
      range.last = std::max(range.last, index);
    }
  }

  const RankProgram &own;
  /// What some class leaves out, and what all others run touches.
  std::vector<int64_t> optional;
  std::vector<LiveRange> common;
};

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
  forEachIssued(program, rankClass, [&](const IssuedStatement &issued) {
    const ProgramStatement &statement = issued.statement;
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

bool leavesOutLaunchesAlone(const RankProgram &own,
                            const RankClass &rankClass) {
  return llvm::all_of(rankClass.leftOut, [&](int64_t index) {
    return own.statements[static_cast<size_t>(index)].kind ==
           StatementKind::launch;
  });
}

} // namespace

Prediction parplan::predictResources(const Program &program) {
  if (std::optional<std::string> fault = verifyProgram(program))
    PARPLAN_UNREACHABLE("a program that cannot be simulated: ", *fault);
  Prediction prediction;
  prediction.rankCount = program.mesh.getRankCount();
  // By programs: lives of buffers, and the traffic of classes that take part in
  // all calls, as most do.
  std::map<int64_t, LiveRanges> lives;
  std::map<int64_t, RankPrediction> traffic;
  std::vector<RankPrediction> ofClasses;
  for (const RankClass &each : program.classes) {
    const RankProgram &own = program.getProgram(each);
    RankPrediction &result = ofClasses.emplace_back();
    if (leavesOutLaunchesAlone(own, each)) {
      auto [known, isNew] = traffic.try_emplace(each.program);
      if (isNew)
        predictTraffic(program, each, known->second);
      result = known->second;
    } else {
      predictTraffic(program, each, result);
    }
    result.lowerBounds = own.arenaBounds;
    auto ranges = lives.find(each.program);
    if (ranges == lives.end())
      ranges =
          lives.emplace(each.program, LiveRanges(program, each.program)).first;
    predictMemory(own, ranges->second.get(each), result);
  }
  for (int64_t each : program.classOf)
    prediction.ranks.push_back(ofClasses[static_cast<size_t>(each)]);
  if (program.classOf.empty())
    prediction.ranks = std::move(ofClasses);
  return prediction;
}
