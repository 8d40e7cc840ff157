//===- engine.cpp - Books of a rank ---------------------------------------===//

#include "engine.h"
#include "failure.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace parplan {
namespace runtime {

const char *callName(CallKind kind) {
  static const char *const names[callKinds] = {
      "all_reduce", "all_gather", "reduce_scatter", "broadcast",
      "reduce",     "all_to_all", "send",           "recv"};
  return names[static_cast<int>(kind)];
}

int64_t monotonicNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t environmentNumber(const char *name, int64_t fallback) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return fallback;
  char *end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  return *end ? fallback : value;
}

// --- books
// --------------------------------------------------------------------

void EngineRank::mark(Buffers buffers) {
  for (const Range &range : buffers) {
    const int64_t end = range.offset + range.bytes;
    if (end > peak) {
      if (end > arenaLimit)
        fail(exitDisagreement, "the arena holds " + std::to_string(arenaLimit) +
                                   " bytes, but a buffer ends at byte " +
                                   std::to_string(end));
      peak = end;
    }
  }
}

void EngineRank::count(CallKind kind, const char *communicator, int64_t bytes) {
  CallCount &entry = counts[static_cast<int>(kind)];
  ++entry.calls;
  entry.bytes += bytes;
  const char *name = callName(kind);
  char number[32];
  const int digits = std::snprintf(number, sizeof number, " %lld\n",
                                   static_cast<long long>(bytes));
  order.update(name, std::strlen(name));
  order.update(" ", 1);
  order.update(communicator, std::strlen(communicator));
  order.update(number, static_cast<size_t>(digits));
}

void EngineRank::beginStep() { order = Sha256(); }

void Stream::touch(Buffers buffers) {
  static_cast<EngineRank &>(owner).mark(buffers);
}

// --- the mesh
// -----------------------------------------------------------------

std::vector<int64_t> meshCoordinates(const Program &program, int rank) {
  std::vector<int64_t> coordinates(program.mesh.size);
  int64_t rest = rank;
  for (int64_t axis = program.mesh.size - 1; axis >= 0; --axis) {
    coordinates[axis] = rest % program.mesh[axis].size;
    rest /= program.mesh[axis].size;
  }
  return coordinates;
}

namespace {
/// S3: the first axis cuts [0, size), the next cuts that block, and so on.
template <typename Coordinate>
Interval nestedBlock(const Program &program, int64_t size, Table<int32_t> axes,
                     Coordinate coordinate) {
  Interval interval = {0, size, size};
  int64_t end = size;
  for (int32_t axis : axes) {
    const int64_t parts = program.mesh[axis].size;
    interval.size = (interval.size + parts - 1) / parts;
    interval.start += coordinate(axis) * interval.size;
    if (interval.start > end)
      interval.start = end;
    if (interval.start + interval.size < end)
      end = interval.start + interval.size;
  }
  interval.valid = end - interval.start;
  return interval;
}
} // namespace

Interval blockOf(const Program &program,
                 const std::vector<int64_t> &coordinates, int64_t size,
                 Table<int32_t> axes) {
  return nestedBlock(program, size, axes,
                     [&](int32_t axis) { return coordinates[axis]; });
}

int64_t Rank::coordinate(int32_t axis) const {
  int64_t rest = position;
  for (int64_t last = table.mesh.size - 1; last > axis; --last)
    rest /= table.mesh[last].size;
  return rest % table.mesh[axis].size;
}

Interval Rank::block(int64_t size, Table<int32_t> axes, int64_t back) const {
  std::vector<int64_t> coordinates = meshCoordinates(table, position);
  // Positions in a group count row-major over its axes.
  int64_t ring = 1, place = 0;
  for (int32_t axis : axes) {
    ring *= table.mesh[axis].size;
    place = place * table.mesh[axis].size + coordinates[axis];
  }
  place = ((place - back) % ring + ring) % ring;
  for (int64_t last = axes.size - 1; last >= 0; --last) {
    const int32_t axis = axes[last];
    coordinates[axis] = place % table.mesh[axis].size;
    place /= table.mesh[axis].size;
  }
  return blockOf(table, coordinates, size, axes);
}

std::vector<int> groupMembers(const Program &program,
                              const CommunicatorEntry &entry, int rank) {
  std::vector<int64_t> coordinates = meshCoordinates(program, rank);
  int64_t members = 1;
  for (int32_t axis : entry.axes)
    members *= program.mesh[axis].size;
  std::vector<int> group;
  for (int64_t member = 0; member < members; ++member) {
    int64_t rest = member;
    for (int64_t i = entry.axes.size - 1; i >= 0; --i) {
      const int32_t axis = entry.axes[i];
      coordinates[axis] = rest % program.mesh[axis].size;
      rest /= program.mesh[axis].size;
    }
    int64_t position = 0;
    for (int64_t axis = 0; axis < program.mesh.size; ++axis)
      position = position * program.mesh[axis].size + coordinates[axis];
    group.push_back(static_cast<int>(position));
  }
  return group;
}

// --- deadlines
// ----------------------------------------------------------------

WaitScope::WaitScope(WaitRecord &record, const char *kind, const char *name)
    : record(record) {
  record.kind = kind;
  record.name = name;
  ++record.number;
  record.since = monotonicNanoseconds();
}

namespace {
struct RegisteredWait {
  int rank;
  WaitRecord *record;
};
struct Watchdog {
  std::mutex mutex;
  std::vector<RegisteredWait> waits;
};
/// Never destroyed: the thread runs until the process ends.
Watchdog &watchdog() {
  static Watchdog *instance = new Watchdog;
  return *instance;
}
} // namespace

void registerWait(int rank, WaitRecord &record) {
  std::lock_guard<std::mutex> lock(watchdog().mutex);
  watchdog().waits.push_back({rank, &record});
}

void startWatchdog(double seconds) {
  std::thread([seconds] {
    const int64_t limit = static_cast<int64_t>(seconds * 1e9);
    const auto pause = std::chrono::milliseconds(seconds < 1 ? 20 : 100);
    for (;;) {
      std::this_thread::sleep_for(pause);
      const int64_t now = monotonicNanoseconds();
      std::lock_guard<std::mutex> lock(watchdog().mutex);
      for (const RegisteredWait &wait : watchdog().waits) {
        const int64_t since = wait.record->since;
        if (since == 0 || now - since < limit)
          continue;
        setMessageRank(wait.rank);
        fail(exitTimedOut, std::string("no answer for ") +
                               std::to_string((now - since) / 1000000000) +
                               " s in " + wait.record->kind.load() +
                               " number " +
                               std::to_string(wait.record->number.load()) +
                               " on " + quoted(wait.record->name.load()) +
                               "; --timeout sets the limit");
      }
    }
  }).detach();
}

} // namespace runtime
} // namespace parplan
