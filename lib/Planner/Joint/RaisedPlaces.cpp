//===- RaisedPlaces.cpp - What positions cost at least, by place ----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "RaisedPlaces.h"

#include <algorithm>

using namespace parplan;

RaisedPlaces::RaisedPlaces(const UnitChain &chain, const ScheduleShape &shape)
    : perChunk(chain.getBlocksPerChunk(shape)), firstEqual(perChunk, 0),
      raised(shape.positions) {
  auto getTypes = [&](int64_t block) {
    std::vector<int> types;
    for (const UnitRange &range : chain.getContent(shape, block, 1))
      types.push_back(chain.getType(range.first));
    return types;
  };
  for (int64_t block = 1; block < perChunk; ++block)
    firstEqual[block] =
        getTypes(block) == getTypes(block - 1) ? firstEqual[block - 1] : block;
}

RaisedPlaces::PlaceClass RaisedPlaces::getClass(int64_t before,
                                                int64_t count) const {
  int64_t end = before + count;
  // The ends of the model are with the first block and with the last.
  if (end == perChunk)
    return toTheEnd;
  if (before == 0 || firstEqual[end - 1] > before)
    return before;
  // As many blocks elsewhere among equal ones are the same.
  return std::max<int64_t>(1, firstEqual[end - 1]);
}

const RaisedPlaces::Values *RaisedPlaces::find(int64_t position, int64_t before,
                                               int64_t count) const {
  const auto &ofPosition = raised[position];
  if (ofPosition.empty())
    return nullptr;
  auto found = ofPosition.find(getClass(before, count));
  return found == ofPosition.end() ? nullptr : &found->second;
}

void RaisedPlaces::raise(int64_t position, int64_t before, int64_t count,
                         size_t form, size_t formCount, double value) {
  Values &values = raised[position][getClass(before, count)];
  if (values.empty())
    values.assign(formCount, std::vector<double>(perChunk + 1, notRaised));
  for (int64_t more = count; more <= perChunk && values[form][more] < value;
       ++more)
    values[form][more] = value;
}
