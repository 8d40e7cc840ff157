//===- mesh.cpp - Where ranks stand ---------------------------------------===//

#include "mesh.h"

namespace parplan {
namespace runtime {

namespace {
/// Axes that number the workers: the first ones.
int64_t workerAxes(const Program &program) {
  return program.mesh.size - (program.servers > 0 ? 1 : 0);
}
} // namespace

int workerCount(const Program &program) {
  int64_t workers = 1;
  for (int64_t axis = 0; axis < workerAxes(program); ++axis)
    workers *= program.mesh[axis].size;
  return static_cast<int>(workers);
}

int rankCount(const Program &program) {
  return workerCount(program) + static_cast<int>(program.servers);
}

std::vector<int64_t> meshCoordinates(const Program &program, int rank) {
  std::vector<int64_t> coordinates(program.mesh.size);
  if (isServer(program, rank)) {
    coordinates.back() = rank - workerCount(program);
    return coordinates;
  }
  int64_t rest = rank;
  for (int64_t axis = workerAxes(program) - 1; axis >= 0; --axis) {
    coordinates[axis] = rest % program.mesh[axis].size;
    rest /= program.mesh[axis].size;
  }
  return coordinates;
}

int rankAt(const Program &program, const std::vector<int64_t> &coordinates,
           bool server) {
  if (server)
    return workerCount(program) + static_cast<int>(coordinates.back());
  int64_t position = 0;
  for (int64_t axis = 0; axis < workerAxes(program); ++axis)
    position = position * program.mesh[axis].size + coordinates[axis];
  return static_cast<int>(position);
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
  return meshCoordinates(table, position)[axis];
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
  std::vector<int> group;
  if (entry.everyone) {
    for (int member = 0; member < rankCount(program); ++member)
      group.push_back(member);
    return group;
  }
  const bool server = isServer(program, rank);
  int64_t members = 1;
  for (int32_t axis : entry.axes) {
    members *= program.mesh[axis].size;
    if (program.servers > 0 && server != (axis == workerAxes(program)))
      return {};
  }
  std::vector<int64_t> coordinates = meshCoordinates(program, rank);
  for (int64_t member = 0; member < members; ++member) {
    int64_t rest = member;
    for (int64_t i = entry.axes.size - 1; i >= 0; --i) {
      const int32_t axis = entry.axes[i];
      coordinates[axis] = rest % program.mesh[axis].size;
      rest /= program.mesh[axis].size;
    }
    group.push_back(rankAt(program, coordinates, server));
  }
  return group;
}

std::vector<int32_t> streamsOf(const Program &program,
                               const CommunicatorEntry &entry) {
  if (entry.stream >= 0)
    return {entry.stream};
  int32_t count = 0;
  for (const Stage &stage : program.stages)
    count = stage.streamCount > count ? stage.streamCount : count;
  std::vector<int32_t> streams;
  for (int32_t stream = 0; stream < count; ++stream)
    streams.push_back(stream);
  return streams;
}

} // namespace runtime
} // namespace parplan
