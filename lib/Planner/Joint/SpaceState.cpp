//===- SpaceState.cpp - What is known of one space ------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "SpaceState.h"

#include "parplan/Support/Never.h"

#include "CutRaising.h"
#include "PathBound.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace parplan;

static std::vector<BlockOracle *> getDistinct(SpaceModel &model) {
  std::vector<BlockOracle *> oracles;
  for (const SearchUnit &unit : model.getUnits())
    if (!llvm::is_contained(oracles, unit.oracle))
      oracles.push_back(unit.oracle);
  return oracles;
}

SpaceState::SpaceState(std::unique_ptr<SpaceModel> given,
                       double memoryLimitBytes, double spareBytes,
                       double leastMessageSeconds, const SpaceInfo &info)
    : model(std::move(given)), distinct(getDistinct(*model)),
      oracles(distinct, info.modes), dual(chain, oracles),
      drafts(*model, chain, oracles, dual, info.meeting),
      leastMessageSeconds(leastMessageSeconds), meeting(info.meeting) {
  setMemoryLimit(memoryLimitBytes, spareBytes);
  for (const SearchUnit &unit : model->getUnits())
    chain.add(
        static_cast<int>(llvm::find(distinct, unit.oracle) - distinct.begin()),
        unit.count, unit.isEnd);
}

CutBound SpaceState::makeBound(const ScheduleShape &shape,
                               CutBound::Effort effort, bool isOfKnown) {
  CutBound::Options options;
  options.meeting = getMeeting(meeting, shape);
  options.leastMessageSeconds = leastMessageSeconds;
  options.effort = effort;
  options.isOfKnown = isOfKnown;
  return CutBound(chain, shape, oracles, options);
}

double SpaceState::getWorkBound(const ScheduleShape &shape, double cutoff) {
  if (chain.getBlocksPerChunk(shape) == 0)
    return never;
  return makeBound(shape, CutBound::Effort::work).find(cutoff).seconds;
}

double SpaceState::getBlockBound(const ScheduleShape &shape, double cutoff) {
  if (chain.getBlocksPerChunk(shape) == 0)
    return never;
  if (cutoff < never) {
    CutBound known =
        makeBound(shape, CutBound::Effort::shared, /*isOfKnown=*/true);
    double seconds = known.find(cutoff).seconds;
    if (seconds >= cutoff)
      return seconds;
  }
  return makeBound(shape, CutBound::Effort::shared).find(cutoff).seconds;
}

double SpaceState::getMemoryBound(const ScheduleShape &shape, double cutoff,
                                  bool countsWaiting) {
  if (chain.getBlocksPerChunk(shape) == 0)
    return never;
  CutBound bound = makeBound(shape, CutBound::Effort::all);
  return raiseCut(bound, shape, chain, dual, freeBytes, cutoff, countsWaiting)
      .seconds;
}

double SpaceState::getPathBound(const ScheduleShape &shape, double cutoff) {
  if (!fits(shape))
    return never;
  if (!PathBound::isKnown(shape))
    return 0;
  CutBound bound = makeBound(shape, CutBound::Effort::all);
  CutPath path = raiseCut(bound, shape, chain, dual, freeBytes, cutoff);
  if (path.counts.empty())
    return never;
  PathBound::Options options{getMeeting(meeting, shape), leastMessageSeconds,
                             freeBytes};
  return PathBound(bound, path, chain, shape, dual, options).find(cutoff);
}

PlanDrafts::Cuts SpaceState::getCuts(const ScheduleShape &shape,
                                     double knownSeconds, bool isQuick) {
  PlanDrafts::Cuts cuts;
  if (!isQuick) {
    CutBound bound = makeBound(shape, CutBound::Effort::all);
    CutPath path = raiseCut(bound, shape, chain, dual, freeBytes, knownSeconds);
    if (path.counts.empty())
      return {};
    cuts.push_back(path.counts);
  }
  int64_t perChunk = chain.getBlocksPerChunk(shape);
  std::vector<int64_t> equal;
  for (int64_t position = 0; position < shape.positions; ++position)
    equal.push_back(perChunk * (position + 1) / shape.positions -
                    perChunk * position / shape.positions);
  if (!llvm::is_contained(cuts, equal))
    cuts.push_back(equal);
  return cuts;
}

std::optional<PlanDrafts::Found>
SpaceState::findPlan(const ScheduleShape &shape, double knownSeconds,
                     bool isQuick) {
  if (chain.getBlocksPerChunk(shape) == 0)
    return std::nullopt;
  PlanDrafts::Cuts cuts = getCuts(shape, knownSeconds, isQuick);
  if (cuts.empty())
    return std::nullopt;
  return drafts.find(shape, cuts, knownSeconds, isQuick);
}
