//===- WaitingRooms.cpp - How much may wait for weight gradients ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Pipeline/WaitingRooms.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

#include <algorithm>

using namespace parplan;

std::optional<std::string> parplan::getRefusal(const ScheduleShape &shape,
                                               const WaitingRoom &room) {
  if (!room.isLimited() && room.stages.empty())
    return std::nullopt;
  std::string name = printScheduleName(shape);
  if (!splitsBackward(shape.kind))
    return concat("nothing waits for weight gradients in schedule ", name,
                  ": it has no room for that");
  auto positions = static_cast<int64_t>(room.positionBytes.size());
  auto stages = static_cast<int64_t>(room.stages.size());
  if (positions != shape.positions || stages != shape.getStageCount())
    return concat("the room is for ", positions, " positions and ", stages,
                  " stages, schedule ", name, " has ", shape.positions, " and ",
                  shape.getStageCount());
  std::vector<int64_t> all = room.positionBytes;
  for (const PassBytes &bytes : room.stages)
    all.insert(all.end(), {bytes.saved, bytes.waiting, bytes.forward,
                           bytes.inputGradient, bytes.weightGradient});
  for (int64_t bytes : all)
    if (bytes < 0 || bytes > WaitingRoom::mostBytes)
      return concat("a room with ", bytes, " bytes: it is not between 0 and ",
                    WaitingRoom::mostBytes);
  return std::nullopt;
}

std::vector<int64_t>
parplan::getPeakBytes(const PipelineSchedule &schedule,
                      const std::vector<PassBytes> &stages) {
  std::vector<int64_t> peaks;
  for (size_t position = 0; position < schedule.passes.size(); ++position) {
    int64_t between = 0, peak = 0;
    for (const Pass &pass : schedule.passes[position]) {
      const PassBytes &own = stages[getStage(
          schedule.shape, static_cast<int64_t>(position), pass.chunk)];
      switch (pass.kind) {
      case PassKind::forward:
        peak = std::max(peak, between + own.forward);
        between += own.saved;
        break;
      case PassKind::inputGradient:
        between -= own.saved;
        peak = std::max(peak, between + own.inputGradient);
        between += own.waiting;
        break;
      case PassKind::weightGradient:
        between -= own.waiting;
        peak = std::max(peak, between + own.weightGradient);
        break;
      case PassKind::backward:
        PARPLAN_UNREACHABLE("a backward pass that is not split");
      }
    }
    peaks.push_back(peak);
  }
  return peaks;
}

/// How many rooms of a schedule may be looked at.
static double getAffordedRooms(const ScheduleShape &shape) {
  // Each is about as much work as so many simulations.
  constexpr double simulations = 5;
  double passes = simulations * 3 * static_cast<double>(shape.getStageCount()) *
                  static_cast<double>(shape.microBatches);
  return 1e6 / passes;
}

/// Of what lies between the smallest room and the widest one: what a little
/// less gains or loses is a matter of chance, so most are near the widest.
static std::vector<double> getShares(const ScheduleShape &shape) {
  auto most =
      static_cast<int>(std::clamp(getAffordedRooms(shape), 4.0, 8.0)) - 1;
  std::vector<double> shares;
  for (int number = 0; number <= most; ++number) {
    double way = static_cast<double>(number) / most;
    shares.push_back(1 - way * way);
  }
  return shares;
}

WaitingRoom parplan::chooseRoom(
    const ScheduleShape &shape, const StageTimes &times,
    const Latencies &latencies, const WaitingRoom &widest,
    const std::function<double(const PipelineSchedule &)> &getSeconds) {
  PipelineSchedule free = makeSchedule(shape, times, latencies);
  WaitingRoom most = widest;
  most.positionBytes = getPeakBytes(free, widest.stages);
  bool isFree = true;
  for (int64_t position = 0; position < shape.positions; ++position) {
    int64_t &bytes = most.positionBytes[position];
    isFree &= bytes <= widest.positionBytes[position];
    bytes = std::min(bytes, widest.positionBytes[position]);
  }
  WaitingRoom none = widest;
  none.positionBytes.assign(shape.positions, 0);
  std::vector<int64_t> least =
      getPeakBytes(makeSchedule(shape, times, latencies, none), widest.stages);
  auto getBytes = [&](int64_t position, double share) {
    int64_t bytes = most.positionBytes[position];
    auto between =
        static_cast<double>(bytes - std::min(bytes, least[position]));
    return bytes - static_cast<int64_t>((1 - share) * between);
  };
  std::optional<RoomRank> bestRank;
  WaitingRoom best = most;
  bool isLimited = !isFree;
  auto look = [&](WaitingRoom room, const PipelineSchedule &schedule) {
    std::vector<int64_t> peaks = getPeakBytes(schedule, room.stages);
    int64_t excess = 0;
    for (int64_t position = 0; position < shape.positions; ++position)
      excess =
          std::max(excess, peaks[position] - widest.positionBytes[position]);
    RoomRank rank{excess, getSeconds(schedule)};
    // Smaller ones come later.
    if (bestRank && !rank.isNoWorseThan(*bestRank))
      return false;
    bestRank = bestRank ? rank.replacing(*bestRank) : rank;
    best = std::move(room);
    return true;
  };
  std::vector<double> shares = getShares(shape);
  for (double share : shares) {
    WaitingRoom room = most;
    for (int64_t position = 0; position < shape.positions; ++position)
      room.positionBytes[position] = getBytes(position, share);
    if (share == 1 && isFree)
      look(std::move(room), free);
    else if (PipelineSchedule schedule =
                 makeSchedule(shape, times, latencies, room);
             look(std::move(room), schedule))
      isLimited = true;
  }
  // Where a single position sets the pace others need less.
  constexpr double sharesOfOne[] = {0, 0.5};
  if (getAffordedRooms(shape) >=
      static_cast<double>(shares.size() +
                          std::size(sharesOfOne) * shape.positions))
    for (int64_t position = 0; position < shape.positions; ++position)
      for (double share : sharesOfOne) {
        WaitingRoom room = best;
        room.positionBytes[position] = getBytes(position, share);
        if (room.positionBytes[position] >= best.positionBytes[position])
          break;
        PipelineSchedule schedule = makeSchedule(shape, times, latencies, room);
        if (look(std::move(room), schedule)) {
          isLimited = true;
          break;
        }
      }
  return isLimited ? best : WaitingRoom();
}
