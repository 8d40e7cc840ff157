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
#include <set>

using namespace parplan;

namespace {

/// First and last statement that touches a buffer.
struct LiveRange {
  int64_t first = -1;
  int64_t last = -1;
};

/// Of the classes that run one program.
class LiveRanges {
public:
  LiveRanges(const Program &program, int64_t number)
      : own(program.programs[static_cast<size_t>(number)]),
        common(own.buffers.size()) {
    // Every class adds the rest to what none leaves out.
    std::set<int64_t> sometimes;
    for (const RankClass &each : program.classes)
      if (each.program == number)
        sometimes.insert(each.leftOut.begin(), each.leftOut.end());
    optional.assign(sometimes.begin(), sometimes.end());
    forEachIssue(program, {number, optional},
                 [&](const ProgramStatement &, const Issue &issue) {
                   touch(common, issue.statement);
                 });
  }

  std::vector<LiveRange> get(const RankClass &rankClass) const {
    std::vector<LiveRange> ranges = common;
    for (int64_t statement : optional)
      if (!llvm::binary_search(rankClass.leftOut, statement))
        touch(ranges, statement);
    return ranges;
  }

private:
  void touch(std::vector<LiveRange> &ranges, int64_t statement) const {
    for (int buffer : own.statements[static_cast<size_t>(statement)].buffers) {
      LiveRange &range = ranges[static_cast<size_t>(buffer)];
      if (range.first == -1 || statement < range.first)
        range.first = statement;
      range.last = std::max(range.last, statement);
    }
  }

  const RankProgram &own;
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
  // Of each program; the traffic is of all its calls, which most classes have.
  std::map<int64_t, LiveRanges> ranges;
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
    auto lives = ranges.find(each.program);
    if (lives == ranges.end())
      lives =
          ranges.emplace(each.program, LiveRanges(program, each.program)).first;
    predictMemory(own, lives->second.get(each), result);
  }
  for (int64_t each : program.classOf)
    prediction.ranks.push_back(ofClasses[static_cast<size_t>(each)]);
  if (program.classOf.empty())
    prediction.ranks = std::move(ofClasses);
  return prediction;
}
