//===- Skips.cpp - Values that skip stages --------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Pipeline/Skips.h"

#include <algorithm>
#include <set>

using namespace parplan;

std::vector<StageEdge>
parplan::getRelayEdges(const ScheduleShape &shape,
                       const std::vector<StageEdge> &skips) {
  std::vector<StageEdge> edges;
  if (skips.empty())
    return edges;
  int64_t source = skips.front().source, last = source;
  int64_t direction = skips.front().destination > source ? 1 : -1;
  for (const StageEdge &skip : skips)
    last = direction > 0 ? std::max(last, skip.destination)
                         : std::min(last, skip.destination);
  std::set<int64_t> reached = {getPosition(shape, source)};
  for (int64_t stage = source; stage != last; stage += direction)
    if (reached.insert(getPosition(shape, stage + direction)).second)
      edges.push_back({stage, stage + direction});
  return edges;
}

int64_t SkipPrice::getBusiestBytes() const {
  return std::max(
      *std::max_element(sentBytes.begin(), sentBytes.end()),
      *std::max_element(receivedBytes.begin(), receivedBytes.end()));
}

int64_t SkipPrice::getMostWaitingBytes() const {
  return *std::max_element(waitingBytes.begin(), waitingBytes.end());
}

void SkipPrice::add(const SkipPrice &other) {
  for (auto bytes : {&SkipPrice::sentBytes, &SkipPrice::receivedBytes,
                     &SkipPrice::waitingBytes})
    for (size_t position = 0; position < (this->*bytes).size(); ++position)
      (this->*bytes)[position] += (other.*bytes)[position];
}

SkipPrice parplan::priceSkips(const PipelineSchedule &schedule,
                              const Timeline &timeline,
                              const std::vector<StageEdge> &edges,
                              int64_t bytes, const Latencies &latencies) {
  const ScheduleShape &shape = schedule.shape;
  SkipPrice price;
  price.sentBytes.assign(shape.positions, 0);
  price.receivedBytes = price.waitingBytes = price.sentBytes;
  for (const StageEdge &edge : edges) {
    int64_t source = getPosition(shape, edge.source);
    int64_t destination = getPosition(shape, edge.destination);
    if (source == destination)
      continue;
    price.sentBytes[source] += bytes;
    price.receivedBytes[destination] += bytes;
    price.waitingBytes[destination] +=
        bytes * countWaitingMessages(schedule, timeline, edge, latencies);
  }
  return price;
}

bool parplan::isRelayCheaper(const SkipPrice &direct, const SkipPrice &relay,
                             std::optional<int64_t> mostWaitingBytes) {
  auto fits = [&](const SkipPrice &way) {
    return !mostWaitingBytes || way.getMostWaitingBytes() <= *mostWaitingBytes;
  };
  if (fits(direct) != fits(relay))
    return fits(relay);
  return relay.getBusiestBytes() < direct.getBusiestBytes();
}
