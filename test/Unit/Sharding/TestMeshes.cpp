//===- TestMeshes.cpp - Meshes and shardings for tests --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestMeshes.h"

#include "parplan/Support/Check.h"

#include <algorithm>
#include <numeric>

namespace parplan::test {

Mesh makeMesh(llvm::StringRef text) {
  std::vector<MeshAxis> axes;
  while (!text.empty()) {
    auto [word, rest] = text.split(' ');
    auto [name, size] = word.split('=');
    int64_t number = 0;
    PARPLAN_CHECK(!size.getAsInteger(10, number), "no mesh: ", text.str());
    axes.push_back({name.str(), number, AxisRole::tensor});
    text = rest;
  }
  return Mesh(axes);
}

Sharding makeSharding(llvm::StringRef text, const Mesh &mesh) {
  std::optional<Sharding> sharding = parseSharding(text, mesh);
  PARPLAN_CHECK(sharding.has_value(), "no sharding: ", text.str());
  auto fault = verifySharding(*sharding, mesh, sharding->dims.size());
  PARPLAN_CHECK(!fault, text.str(), ": ", *fault);
  return *sharding;
}

AxisList makeAxes(llvm::StringRef text, const Mesh &mesh) {
  return makeSharding("[{" + text.str() + "}]", mesh).dims[0];
}

int64_t pick(Random &random, int64_t first, int64_t last) {
  return first + static_cast<int64_t>(random() % (last - first + 1));
}

Sharding makeRandomSharding(Random &random, const Mesh &mesh, size_t rank,
                            RandomShardingOptions options) {
  Sharding sharding = Sharding::getReplicated(rank);
  bool stores = options.storage && pick(random, 0, 3) == 0;
  llvm::SmallVector<int> order(mesh.getAxisCount());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (int axis : order) {
    int64_t place = pick(random, 0, static_cast<int64_t>(rank) + 2);
    if (place < static_cast<int64_t>(rank))
      sharding.dims[place].push_back(axis);
    else if (place == static_cast<int64_t>(rank) && options.partial)
      sharding.partial.push_back(axis);
    else if (place == static_cast<int64_t>(rank) + 1 && stores)
      sharding.storage.push_back(axis);
  }
  std::sort(sharding.partial.begin(), sharding.partial.end());
  if (options.max && sharding.isPartial() && pick(random, 0, 3) == 0)
    sharding.reduction = ReductionKind::max;
  return sharding;
}

Mesh makeRandomMesh(Random &random, int maxAxes) {
  std::vector<MeshAxis> axes;
  int64_t count = pick(random, 1, maxAxes);
  for (int64_t axis = 0; axis < count; ++axis)
    axes.push_back({std::string(1, static_cast<char>('x' + axis)),
                    pick(random, 2, 3), AxisRole::tensor});
  return Mesh(axes);
}

std::vector<Sharding> getCompleteShardings(const Mesh &mesh, size_t rank) {
  std::vector<Sharding> all = {Sharding::getReplicated(rank)};
  // An axis goes to every position of every dimension of what there is.
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
    for (size_t i = 0, end = all.size(); i < end; ++i)
      for (size_t dim = 0; dim < rank; ++dim)
        for (size_t position = 0; position <= all[i].dims[dim].size();
             ++position) {
          Sharding wider = all[i];
          AxisList &axes = wider.dims[dim];
          axes.insert(axes.begin() + position, axis);
          all.push_back(wider);
        }
  return all;
}

Sharding cutAxes(Sharding sharding) {
  auto cut = [](AxisList &axes) {
    AxisList halves;
    for (int axis : axes)
      halves.append({2 * axis, 2 * axis + 1});
    axes = std::move(halves);
  };
  llvm::for_each(sharding.dims, cut);
  cut(sharding.partial);
  cut(sharding.storage);
  return sharding;
}

} // namespace parplan::test
