//===- UnitChain.cpp - The units of a model in a row ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitChain.h"

#include <algorithm>

using namespace parplan;

void UnitChain::add(int type, int64_t count, bool isEnd) {
  // Whatever is an end after the first block is at the other one.
  bool hasBlocks = getInstanceCount() > head;
  types.insert(types.end(), count, type);
  typeCount = std::max(typeCount, type + 1);
  if (isEnd)
    (hasBlocks ? tail : head) += static_cast<int>(count);
}

int64_t UnitChain::getBlocksPerChunk(const ScheduleShape &shape) const {
  int64_t blocks = getBlockCount();
  if (blocks % shape.chunks != 0 || blocks / shape.chunks < shape.positions)
    return 0;
  return blocks / shape.chunks;
}

UnitRange UnitChain::getContent(const ScheduleShape &shape, int64_t before,
                                int64_t count, int64_t chunk) const {
  int64_t perChunk = getBlockCount() / shape.chunks;
  int64_t end = before + count;
  bool isBack = chunk == 1 && isVee(shape.kind);
  int64_t low = isBack ? 2 * perChunk - end : chunk * perChunk + before;
  int64_t high = isBack ? 2 * perChunk - before : chunk * perChunk + end;
  UnitRange range = {head + static_cast<int>(low),
                     head + static_cast<int>(high)};
  if (low == 0)
    range.first = 0;
  if (high == shape.chunks * perChunk)
    range.end += tail;
  return range;
}

std::vector<UnitRange> UnitChain::getContent(const ScheduleShape &shape,
                                             int64_t before,
                                             int64_t count) const {
  std::vector<UnitRange> ranges;
  for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
    ranges.push_back(getContent(shape, before, count, chunk));
  return ranges;
}

std::vector<int> UnitChain::getCuts(const ScheduleShape &shape,
                                    const std::vector<int64_t> &counts) const {
  std::vector<int> cuts(shape.getStageCount());
  int64_t before = 0;
  for (int64_t position = 0; position < shape.positions; ++position) {
    std::vector<UnitRange> content =
        getContent(shape, before, counts[position]);
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      cuts[getStage(shape, position, chunk)] = content[chunk].first;
    before += counts[position];
  }
  return cuts;
}
