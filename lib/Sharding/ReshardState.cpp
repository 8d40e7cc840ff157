//===- ReshardState.cpp - States of the reshard search --------------------===//
//
// Part of parplan. Internal to lib/Sharding.
//
//===----------------------------------------------------------------------===//

#include "ReshardState.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace parplan::reshard {

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

AxisSet State::getUsed() const {
  AxisSet used = partial | storage.getSet();
  for (const Axes &axes : dims)
    used |= axes.getSet();
  return used;
}

void State::complete(AxisSet axes) {
  partial &= ~axes;
  isMax &= partial != 0;
}

namespace {

/// Places of an axis in a key; smaller numbers are dimensions.
enum Place : uint16_t {
  pendingMax = 252,
  pendingSum = 253,
  stored = 254,
  replicated = 255
};

uint16_t getCode(int place, int position) {
  return static_cast<uint16_t>(place << 8 | position);
}

} // namespace

Key encode(const State &state) {
  Key key;
  key.fill(getCode(replicated, 0));
  auto encodeList = [&](const Axes &axes, int place) {
    for (int i = 0; i < axes.size(); ++i)
      key[axes[i]] = getCode(place, i);
  };
  for (size_t dim = 0; dim < state.dims.size(); ++dim)
    encodeList(state.dims[dim], static_cast<int>(dim));
  encodeList(state.storage, stored);
  for (int axis = 0; axis < maxAxes; ++axis)
    if (state.partial >> axis & 1)
      key[axis] = getCode(state.isMax ? pendingMax : pendingSum, 0);
  return key;
}

State decode(const Key &key, size_t rank) {
  State state;
  state.dims.resize(rank);
  // Axes in the order of their positions.
  for (int position = 0; position < maxAxes; ++position) {
    bool found = false;
    for (int axis = 0; axis < maxAxes; ++axis) {
      if ((key[axis] & 0xff) != position)
        continue;
      int place = key[axis] >> 8;
      found |= place != replicated;
      if (place == stored) {
        state.storage.push(axis);
      } else if (place == pendingSum || place == pendingMax) {
        state.partial |= AxisSet(1) << axis;
        state.isMax = place == pendingMax;
      } else if (place != replicated) {
        state.dims[place].push(axis);
      }
    }
    if (!found)
      break;
  }
  return state;
}

//===----------------------------------------------------------------------===//
// Reduction to the axes that take part
//===----------------------------------------------------------------------===//

Problem::Problem(const Mesh &wholeMesh, llvm::ArrayRef<int64_t> shape,
                 const Sharding &from, const Sharding &to)
    : mesh(wholeMesh), blockShape(shape.begin(), shape.end()) {
  size_t rank = shape.size();
  PARPLAN_CHECK(from.dims.size() == rank && to.dims.size() == rank,
                "a reshard of ", rank, " dimensions from ", from.dims.size(),
                " to ", to.dims.size());
  PARPLAN_CHECK(rank < pendingMax, "a value of ", rank, " dimensions");
  llvm::SmallVector<bool, 16> used(mesh.getAxisCount(), false);
  for (const Sharding *sharding : {&from, &to})
    for (int axis : sharding->getUsedAxes())
      used[axis] = true;
  for (size_t dim = 0; dim < rank; ++dim) {
    const AxisList &source = from.dims[dim], &target = to.dims[dim];
    AxisList &prefix = prefixes.emplace_back();
    for (size_t i = 0; i < std::min(source.size(), target.size()); ++i) {
      if (source[i] != target[i])
        break;
      prefix.push_back(source[i]);
      used[source[i]] = false;
    }
    int64_t width = mesh.getWidth(prefix);
    isEven.push_back(shape[dim] % width == 0);
    blockShape[dim] = ceilDivide(shape[dim], width); // S3
  }
  llvm::SmallVector<int, maxAxes> moved;
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
    if (used[axis])
      moved.push_back(axis);
  nameAxes(from, to, moved);
  divideBlocks();
  start = reduce(from);
  goal = reduce(to);
}

namespace {

/// The list of a sharding that an axis is in, and its position. Dimensions come
/// first, then storage, then pending and replicated axes, which have no order.
std::pair<size_t, size_t> getPlace(const Sharding &sharding, int axis) {
  size_t rank = sharding.dims.size();
  for (size_t list = 0; list <= rank; ++list) {
    const AxisList &axes = list < rank ? sharding.dims[list] : sharding.storage;
    auto position = llvm::find(axes, axis) - axes.begin();
    if (position < static_cast<std::ptrdiff_t>(axes.size()))
      return {list, position};
  }
  return {rank + (llvm::is_contained(sharding.partial, axis) ? 1 : 2), 0};
}

/// True if `other` comes directly behind `one`, wherever there is an order.
bool areNeighbours(const Sharding &sharding, int one, int other) {
  auto [list, position] = getPlace(sharding, one);
  auto [itsList, itsPosition] = getPlace(sharding, other);
  bool hasOrder = list <= sharding.dims.size();
  return list == itsList && (!hasOrder || position + 1 == itsPosition);
}

} // namespace

/// Per dimension whether the axes that cut it in `from` or in `to` leave padded
/// blocks.
llvm::SmallVector<bool, 4> Problem::findPadded(const Sharding &from,
                                               const Sharding &to) const {
  llvm::SmallVector<bool, 4> padded;
  for (size_t dim = 0; dim < blockShape.size(); ++dim) {
    AxisList axes;
    int64_t width = 1;
    for (const Sharding *sharding : {&from, &to})
      for (int axis :
           llvm::drop_begin(sharding->dims[dim], prefixes[dim].size()))
        if (!llvm::is_contained(axes, axis)) {
          axes.push_back(axis);
          width *= mesh.getAxis(axis).size;
        }
    padded.push_back(blockShape[dim] % width != 0);
  }
  return padded;
}

/// Axes that are neighbours in both shardings are one: those that split
/// samples, so that to reduce, gather and store over as many ranks takes as
/// long whatever axes they are on, and others where there are many. Not where
/// they cut a padded dimension: gathered as one, six elements over x=2, y=2 are
/// four blocks of two; one by one they are two of three before. Servers are
/// added to other ranks, not multiplied, and join none.
llvm::SmallVector<AxisList, maxAxes>
Problem::joinNeighbours(const Sharding &from, const Sharding &to,
                        llvm::ArrayRef<int> ordered) const {
  llvm::SmallVector<bool, 4> padded = findPadded(from, to);
  auto areOne = [&](int one, int other) {
    return llvm::all_of(
        llvm::ArrayRef({&from, &to}), [&](const Sharding *sharding) {
          size_t list = getPlace(*sharding, one).first;
          bool isPadded = list < padded.size() && padded[list];
          return !isPadded && areNeighbours(*sharding, one, other);
        });
  };
  auto haveRoles = [&](int one, int other, auto isJoined) {
    return isJoined(mesh.getAxis(one).role) &&
           isJoined(mesh.getAxis(other).role);
  };
  auto join = [&](auto isJoined) {
    llvm::SmallVector<AxisList, maxAxes> joined;
    for (int axis : ordered)
      if (!joined.empty() && haveRoles(joined.back().back(), axis, isJoined) &&
          areOne(joined.back().back(), axis))
        joined.back().push_back(axis);
      else
        joined.push_back({axis});
    return joined;
  };
  auto joined = join([](AxisRole role) {
    return role == AxisRole::data || role == AxisRole::context;
  });
  if (joined.size() <= static_cast<size_t>(maxSingleAxes))
    return joined;
  return join([](AxisRole role) { return role != AxisRole::server; });
}

/// Larger axes first; of one size, in the order of their places in `from` and
/// in `to`.
void Problem::nameAxes(const Sharding &from, const Sharding &to,
                       llvm::ArrayRef<int> moved) {
  auto getKey = [&](int axis) {
    return std::tuple(getPlace(from, axis), getPlace(to, axis));
  };
  llvm::SmallVector<int, maxAxes> ordered(moved);
  llvm::stable_sort(
      ordered, [&](int one, int other) { return getKey(one) < getKey(other); });
  meshAxes = joinNeighbours(from, to, ordered);
  llvm::stable_sort(meshAxes, [&](const AxisList &one, const AxisList &other) {
    return mesh.getWidth(one) > mesh.getWidth(other);
  });
  PARPLAN_CHECK(meshAxes.size() <= static_cast<size_t>(maxAxes),
                "a reshard over ", meshAxes.size(), " axes");
  for (const AxisList &axes : meshAxes) {
    sizes.push_back(mesh.getWidth(axes));
    rankCount *= sizes.back();
  }
}

/// Where all axes together divide a dimension, every block of it is a multiple
/// of the one that is left of as many elements as there are ranks: all sizes
/// are, so their order stays.
void Problem::divideBlocks() {
  for (int64_t &size : blockShape)
    if (size > 0 && size % rankCount == 0) {
      scale *= size / rankCount;
      size = rankCount;
    }
}

Query Problem::getQuery() const {
  Query query;
  query.sizes = sizes;
  query.blockShape = blockShape;
  query.isEven = isEven;
  query.start = encode(start);
  query.goal = encode(goal);
  return query;
}

State Problem::reduce(const Sharding &sharding) const {
  // An axis is there with all that it is one with: the first of them counts.
  auto visit = [&](llvm::ArrayRef<int> list, auto take) {
    for (int axis : list)
      for (auto [number, axes] : llvm::enumerate(meshAxes))
        if (axes.front() == axis)
          take(static_cast<int>(number));
  };
  State state;
  for (size_t dim = 0; dim < blockShape.size(); ++dim) {
    Axes &axes = state.dims.emplace_back();
    visit(llvm::ArrayRef(sharding.dims[dim]).drop_front(prefixes[dim].size()),
          [&](int axis) { axes.push(axis); });
  }
  visit(sharding.storage, [&](int axis) { state.storage.push(axis); });
  visit(sharding.partial,
        [&](int axis) { state.partial |= AxisSet(1) << axis; });
  state.isMax =
      sharding.isPartial() && sharding.reduction == ReductionKind::max;
  return state;
}

AxisList Problem::expand(const Axes &axes) const {
  AxisList list;
  for (int axis : axes)
    list.append(meshAxes[axis].begin(), meshAxes[axis].end());
  return list;
}

Sharding Problem::expand(const State &state) const {
  Sharding sharding;
  for (size_t dim = 0; dim < blockShape.size(); ++dim) {
    AxisList &axes = sharding.dims.emplace_back(prefixes[dim]);
    AxisList inner = expand(state.dims[dim]);
    axes.append(inner.begin(), inner.end());
  }
  sharding.storage = expand(state.storage);
  for (int axis = 0; axis < static_cast<int>(meshAxes.size()); ++axis)
    if (state.partial >> axis & 1)
      llvm::append_range(sharding.partial, meshAxes[axis]);
  llvm::sort(sharding.partial);
  if (state.isMax)
    sharding.reduction = ReductionKind::max;
  return sharding;
}

int64_t Problem::getWidth(const Axes &axes) const {
  int64_t width = 1;
  for (int axis : axes)
    width *= sizes[axis];
  return width;
}

int64_t Problem::getWidth(AxisSet axes) const {
  int64_t width = 1;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    if (axes >> axis & 1)
      width *= sizes[axis];
  return width;
}

int64_t Problem::getLocalCount(const State &state) const {
  int64_t count = 1;
  for (size_t dim = 0; dim < blockShape.size(); ++dim)
    count *= ceilDivide(blockShape[dim], getWidth(state.dims[dim]));
  return ceilDivide(count, getWidth(state.storage)); // S6
}

Move Problem::getMove(const Step &step, const State &before,
                      const State &after) const {
  Move move{step.kind, expand(step.axes), step.dim, step.otherDim,
            expand(after)};
  if (step.kind == MoveKind::send) {
    // One communicator: the axes of the dimensions that change, from where
    // they begin to differ.
    AxisSet changed = 0;
    for (size_t dim = 0; dim < blockShape.size(); ++dim) {
      const Axes &old = before.dims[dim], &now = after.dims[dim];
      int same = 0;
      while (same < std::min(old.size(), now.size()) && old[same] == now[same])
        ++same;
      changed |= old.dropFront(same).getSet() | now.dropFront(same).getSet();
    }
    move.axes.clear();
    for (size_t axis = 0; axis < meshAxes.size(); ++axis)
      if (changed >> axis & 1)
        llvm::append_range(move.axes, meshAxes[axis]);
  }
  // These have no order.
  if (step.kind == MoveKind::send || step.kind == MoveKind::allReduce)
    llvm::sort(move.axes);
  move.sizeElements = step.sizeElements * scale;
  move.ringElementsAllRanks =
      step.ringElements * scale * (mesh.getRankCount() / rankCount);
  return move;
}

ReshardPath Problem::getPath(llvm::ArrayRef<ReachedState> reached) const {
  ReshardPath path;
  const State *before = &start;
  for (const ReachedState &next : reached) {
    path.moves.push_back(getMove(next.step, *before, next.state));
    before = &next.state;
  }
  return path;
}

//===----------------------------------------------------------------------===//
// Lower bound
//===----------------------------------------------------------------------===//
//
// Two terms, and no move lowers both:
//  * What the rank that lacks most of its goal block must receive. A rank
//    receives no more than the ring cost counts, and reductions widen no block.
//    No move changes the blocks of stored pieces: before the goal is stored,
//    they are those of the goal, or the first dimension is cut over the axes of
//    its storage, too.
//  * What reductions send. Axes that the goal uses for dimensions or storage
//    can be scattered first, then the others are reduced:
//    N (ab + a - 2) elements, a and b being the widths of both.

void Problem::sampleRanks() {
  constexpr int64_t maxSamples = 32;
  int64_t step = std::max<int64_t>(1, rankCount / maxSamples);
  held.resize(blockShape.size());
  for (int64_t rank = 0; rank < rankCount; rank += step) {
    std::array<int32_t, maxAxes> &coordinates = sampledRanks.emplace_back();
    int64_t rest = rank;
    for (int axis = static_cast<int>(sizes.size()) - 1; axis >= 0; --axis) {
      coordinates[axis] = static_cast<int32_t>(rest % sizes[axis]);
      rest /= sizes[axis];
    }
  }
}

int64_t Problem::getLackingElements(const State &state) const {
  int64_t lacking = getLackingElements(state.dims, goal.dims);
  if (!goal.storage.empty() && !goal.dims.empty()) {
    llvm::SmallVector<Axes, 5> viewed = goal.dims;
    viewed.front().append(goal.storage);
    lacking = std::min(lacking, getLackingElements(state.dims, viewed));
  }
  // Of pieces of flattened blocks it is known how many elements there are.
  if (!state.storage.empty() || !goal.storage.empty())
    lacking = std::max(lacking, getLocalCount(goal) - getLocalCount(state));
  return lacking;
}

const std::vector<Interval> &Problem::getHeld(size_t dim,
                                              const Axes &axes) const {
  std::vector<Interval> &intervals = held[dim][axes];
  if (!intervals.empty())
    return intervals;
  for (const auto &coordinates : sampledRanks) {
    Interval interval{0, blockShape[dim]};
    int64_t block = blockShape[dim];
    for (int axis : axes) {
      block = ceilDivide(block, sizes[axis]);
      interval.start =
          std::min(interval.start + block * coordinates[axis], interval.stop);
      interval.stop = std::min(interval.stop, interval.start + block);
    }
    intervals.push_back(interval);
  }
  return intervals;
}

int64_t Problem::getLackingElements(llvm::ArrayRef<Axes> present,
                                    llvm::ArrayRef<Axes> wanted) const {
  llvm::SmallVector<const Interval *, 5> now, then;
  for (size_t dim = 0; dim < blockShape.size(); ++dim) {
    now.push_back(getHeld(dim, present[dim]).data());
    then.push_back(getHeld(dim, wanted[dim]).data());
  }
  int64_t most = 0;
  for (size_t rank = 0; rank < sampledRanks.size(); ++rank) {
    int64_t elements = 1, kept = 1;
    for (size_t dim = 0; dim < blockShape.size(); ++dim) {
      const Interval &block = now[dim][rank], &target = then[dim][rank];
      elements *= target.size();
      kept *= std::max<int64_t>(0, std::min(block.stop, target.stop) -
                                       std::max(block.start, target.start));
    }
    most = std::max(most, elements - kept);
  }
  return most;
}

int64_t Problem::getLowerBound(const State &state) const {
  int64_t bound = getLackingElements(state) * rankCount;
  AxisSet pending =
      state.isMax == goal.isMax ? state.partial & ~goal.partial : state.partial;
  if (pending) {
    AxisSet scattered = goal.storage.getSet();
    for (const Axes &axes : goal.dims)
      scattered |= axes.getSet();
    int64_t reduced = getWidth(pending & ~scattered);
    int64_t elements = 1;
    for (int64_t size : blockShape)
      elements *= size;
    bound += elements * (getWidth(pending) + reduced - 2);
  }
  return bound;
}

} // namespace parplan::reshard
