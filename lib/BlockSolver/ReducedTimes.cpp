//===- ReducedTimes.cpp - Times at which the limit can decide -------------===//

#include "lib/BlockSolver/Reductions.h"

#include <algorithm>
#include <numeric>

using namespace parplan;
using namespace parplan::block;

namespace {

/// Replaces the spans of a node by disjoint ones in order, that take the same.
void makeDisjoint(Network &network, int node) {
  Network::Node &from = network.nodes[node];
  size_t values = from.ids.size();
  struct Event {
    int time;
    int span;
    bool isBegin;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < from.spans.size(); ++i) {
    events.push_back({from.spans[i].begin, static_cast<int>(i), true});
    events.push_back({from.spans[i].end, static_cast<int>(i), false});
  }
  std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return std::tie(a.time, a.span) < std::tie(b.time, b.span);
  });
  std::vector<Network::Span> spans;
  std::vector<int64_t> usages, current(values, 0);
  for (size_t i = 0; i < events.size();) {
    int time = events[i].time;
    for (; i < events.size() && events[i].time == time; ++i) {
      const int64_t *change = from.usages.data() + events[i].span * values;
      for (size_t value = 0; value < values; ++value)
        current[value] += events[i].isBegin ? change[value] : -change[value];
    }
    if (i == events.size())
      break;
    // A value that takes nothing there needs no span; equal ones join.
    bool isSame =
        !spans.empty() && spans.back().end == time &&
        std::equal(current.begin(), current.end(), usages.end() - values);
    if (isSame) {
      spans.back().end = events[i].time;
      continue;
    }
    spans.push_back({time, events[i].time});
    usages.insert(usages.end(), current.begin(), current.end());
  }
  from.spans = std::move(spans);
  from.usages = std::move(usages);
  from.isDisjoint = true;
  network.subtractLeastUsages(node);
}

/// Keeps the times whose flag is set.
void keepTimes(Network &network, const std::vector<char> &isKept) {
  std::vector<int64_t> base = network.getBase();
  std::vector<int> index(isKept.size() + 1, 0), ids;
  int64_t before = 0;
  network.baseChanges.clear();
  for (size_t time = 0; time < isKept.size(); ++time) {
    index[time + 1] = index[time] + (isKept[time] ? 1 : 0);
    if (!isKept[time])
      continue;
    ids.push_back(network.timeIds[time]);
    network.baseChanges.push_back(base[time] - before);
    before = base[time];
  }
  network.baseChanges.push_back(-before);
  network.timeIds = std::move(ids);
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    Network::Node &node = network.nodes[i];
    if (node.spans.empty())
      continue;
    size_t values = node.ids.size(), written = 0;
    for (size_t span = 0; span < node.spans.size(); ++span) {
      Network::Span moved{index[node.spans[span].begin],
                          index[node.spans[span].end]};
      if (moved.begin >= moved.end)
        continue;
      std::copy_n(node.usages.begin() + span * values, values,
                  node.usages.begin() + written * values);
      node.spans[written++] = moved;
    }
    node.spans.resize(written);
    node.usages.resize(written * values);
    makeDisjoint(network, static_cast<int>(i));
  }
}

/// By how much a time may exceed its neighbour: most[b] is for time b - 1 over
/// b, or b over b - 1.
struct Differences {
  std::vector<int64_t> earlierOverLater, laterOverEarlier;

  explicit Differences(const Network &network)
      : earlierOverLater(network.getTimeCount() + 1, 0),
        laterOverEarlier(network.getTimeCount() + 1, 0) {
    for (const Network::Node &node : network.nodes)
      addNode(node);
  }

private:
  void addNode(const Network::Node &node) {
    size_t values = node.ids.size();
    for (size_t i = 0; i < node.spans.size(); ++i) {
      const int64_t *usages = node.usages.data() + i * values;
      bool touches = i > 0 && node.spans[i - 1].end == node.spans[i].begin;
      addBoundary(touches ? usages - values : nullptr, usages, values,
                  node.spans[i].begin);
      if (i + 1 == node.spans.size() ||
          node.spans[i + 1].begin != node.spans[i].end)
        addBoundary(usages, nullptr, values, node.spans[i].end);
    }
  }

  void addBoundary(const int64_t *before, const int64_t *after, size_t values,
                   int time) {
    int64_t fall = std::numeric_limits<int64_t>::min(), rise = fall;
    for (size_t value = 0; value < values; ++value) {
      int64_t difference =
          (after ? after[value] : 0) - (before ? before[value] : 0);
      rise = std::max(rise, difference);
      fall = std::max(fall, -difference);
    }
    laterOverEarlier[time] += rise;
    earlierOverLater[time] += fall;
  }
};

/// Times where all nodes together cannot exceed the limit go.
std::vector<char> findTightTimes(const Network &network) {
  std::vector<int64_t> most = network.baseChanges;
  for (const Network::Node &node : network.nodes) {
    size_t values = node.ids.size();
    for (size_t i = 0; i < node.spans.size(); ++i) {
      const int64_t *usages = node.usages.data() + i * values;
      int64_t usage = *std::max_element(usages, usages + values);
      most[node.spans[i].begin] += usage;
      most[node.spans[i].end] -= usage;
    }
  }
  std::vector<char> isKept(network.getTimeCount());
  int64_t usage = 0;
  for (size_t time = 0; time < isKept.size(); ++time) {
    usage += most[time];
    isKept[time] = usage > network.limit;
  }
  return isKept;
}

/// Of two neighbouring times the one that never takes more goes. What makes a
/// time go may go itself, for a time further on; never in a circle, because
/// of two equal ones the earlier goes.
std::vector<char> findPeaks(Network &network) {
  Differences differences(network);
  std::vector<char> isKept(network.getTimeCount(), 1);
  for (size_t time = 1; time < isKept.size(); ++time) {
    int64_t rise = network.baseChanges[time];
    auto drop = [&](size_t dropped, size_t heir) {
      isKept[dropped] = 0;
      network.timeHeirs[network.timeIds[dropped]] = network.timeIds[heir];
    };
    if (differences.earlierOverLater[time] - rise <= 0)
      drop(time - 1, time);
    else if (differences.laterOverEarlier[time] + rise <= 0)
      drop(time, time - 1);
  }
  return isKept;
}

} // namespace

bool block::reduceTimes(Network &network) {
  bool isChanged = false;
  auto keep = [&](const std::vector<char> &isKept) {
    if (std::find(isKept.begin(), isKept.end(), 0) == isKept.end())
      return false;
    keepTimes(network, isKept);
    isChanged = true;
    return true;
  };
  for (size_t i = 0; i < network.nodes.size(); ++i)
    if (!network.nodes[i].isDisjoint)
      makeDisjoint(network, static_cast<int>(i));
  keep(findTightTimes(network));
  while (keep(findPeaks(network))) {
  }
  return isChanged;
}

bool block::dropOversized(Network &network, Worklist &changed) {
  std::vector<int64_t> base = network.getBase();
  if (base.empty())
    return false;
  int64_t highest = *std::max_element(base.begin(), base.end());
  if (highest > network.limit) {
    network.isInfeasible = true;
    return false;
  }
  bool isChanged = false;
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    Network::Node &node = network.nodes[i];
    size_t values = node.ids.size();
    bool isOversized = false;
    for (size_t span = 0; span < node.spans.size(); ++span) {
      const int64_t *usages = node.usages.data() + span * values;
      if (*std::max_element(usages, usages + values) + highest <= network.limit)
        continue;
      int64_t there = *std::max_element(base.begin() + node.spans[span].begin,
                                        base.begin() + node.spans[span].end);
      for (size_t value = 0; value < values; ++value)
        if (usages[value] + there > network.limit) {
          node.costs[value] = forbidden;
          isOversized = true;
        }
    }
    if (isOversized) {
      removeForbidden(network, static_cast<int>(i), changed);
      isChanged = true;
    }
  }
  return isChanged;
}
