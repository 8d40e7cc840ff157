//===- Reshard.cpp - The cheapest path between two shardings --------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Sharding/Reshard.h"

#include "ReshardState.h"

#include "parplan/Support/Check.h"

#include <limits>
#include <mutex>
#include <queue>
#include <tuple>
#include <unordered_map>

namespace parplan {

llvm::StringRef stringifyMoveKind(MoveKind kind) {
  switch (kind) {
  case MoveKind::slice:
    return "slice";
  case MoveKind::pend:
    return "pend";
  case MoveKind::view:
    return "view";
  case MoveKind::allGather:
    return "all_gather";
  case MoveKind::allReduce:
    return "all_reduce";
  case MoveKind::reduceScatter:
    return "reduce_scatter";
  case MoveKind::allToAll:
    return "all_to_all";
  case MoveKind::send:
    return "send";
  }
  PARPLAN_UNREACHABLE("unknown move kind ", static_cast<int>(kind));
}

std::string toString(const Move &move, const Mesh &mesh) {
  std::string text = stringifyMoveKind(move.kind).str();
  text += toString(move.axes, mesh);
  if (move.dim == Move::storage)
    return text;
  text += concat(" dim ", move.dim);
  if (move.otherDim != Move::storage)
    text += concat("->", move.otherDim);
  return text;
}

int64_t ReshardPath::getRingElementsAllRanks() const {
  int64_t elements = 0;
  for (const Move &move : moves)
    elements += move.ringElementsAllRanks;
  return elements;
}

int64_t ReshardPath::getCallCount() const {
  return llvm::count_if(moves,
                        [](const Move &move) { return move.sizeElements > 0; });
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

namespace reshard {
namespace {

struct KeyHash {
  size_t operator()(const Key &key) const {
    return llvm::hash_combine_range(key.begin(), key.end());
  }
};

/// A state reached, with the cheapest way found so far.
struct Node {
  Key key;
  /// Ring elements still needed, at least, times the weight.
  int64_t bound = 0;
  int64_t ring = 0;
  int calls = 0;
  int moves = 0;
  int parent = -1;
  Step step = {};

  auto getCost() const { return std::tie(ring, calls, moves); }
};

/// Nullopt where there is no path.
using ReducedPath = std::optional<std::vector<ReachedState>>;

/// A* over states. Costs are compared as (ring elements, calls, moves), ties by
/// the order of discovery, so that equal problems have equal paths. With a
/// `boundWeight` above one the path found may be dearer than the cheapest.
class Search {
public:
  Search(const Problem &problem, int64_t boundWeight)
      : problem(problem), boundWeight(boundWeight),
        rank(problem.getStart().dims.size()), goal(encode(problem.getGoal())) {}

  /// Nullopt when more than `maxStates` states are needed.
  std::optional<ReducedPath> run(size_t maxStates) {
    reach(problem.getStart(), Node{});
    for (size_t states = 0; !queue.empty(); ++states) {
      if (states == maxStates)
        return std::nullopt;
      auto [ring, calls, moves, order, index] = queue.top();
      queue.pop();
      const Node node = nodes[index];
      if (std::tie(calls, moves) != std::tie(node.calls, node.moves) ||
          ring != node.ring + node.bound)
        continue; // A cheaper way was found since.
      if (node.key == goal)
        return getPath(index);
      problem.forEachStep(decode(node.key, rank),
                          [&](const Step &step, const State &after) {
                            Node next;
                            next.ring = node.ring + step.ringElements;
                            next.calls = node.calls + (step.sizeElements > 0);
                            next.moves = node.moves + 1;
                            next.parent = index;
                            next.step = step;
                            reach(after, next);
                          });
    }
    return ReducedPath();
  }

private:
  void reach(const State &state, Node node) {
    node.key = encode(state);
    auto [found, isNew] =
        indices.try_emplace(node.key, static_cast<int>(nodes.size()));
    if (isNew) {
      node.bound = boundWeight * problem.getLowerBound(state);
      nodes.push_back(node);
    } else {
      Node &known = nodes[found->second];
      if (known.getCost() <= node.getCost())
        return;
      node.bound = known.bound;
      known = node;
    }
    queue.emplace(node.ring + node.bound, node.calls, node.moves, ++discovered,
                  found->second);
  }

  ReducedPath getPath(int index) const {
    std::vector<ReachedState> path;
    for (; nodes[index].parent >= 0; index = nodes[index].parent)
      path.push_back({nodes[index].step, decode(nodes[index].key, rank)});
    std::reverse(path.begin(), path.end());
    return path;
  }

  using Entry = std::tuple<int64_t, int, int, int64_t, int>;

  const Problem &problem;
  int64_t boundWeight;
  size_t rank;
  Key goal;
  std::vector<Node> nodes;
  std::unordered_map<Key, int, KeyHash> indices;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  int64_t discovered = 0;
};

/// What five axes on three dimensions can need; more axes seldom need more.
constexpr size_t maxExactStates = 5000;
constexpr int64_t hastyBoundWeight = 4;

ReducedPath findReducedPath(Problem &problem) {
  problem.sampleRanks();
  if (auto path = Search(problem, /*boundWeight=*/1).run(maxExactStates))
    return *path;
  return *Search(problem, hastyBoundWeight)
              .run(std::numeric_limits<size_t>::max());
}

struct QueryHash {
  size_t operator()(const Query &query) const {
    auto hashAll = [](const auto &list) {
      return llvm::hash_combine_range(list.begin(), list.end());
    };
    return llvm::hash_combine(hashAll(query.sizes), hashAll(query.blockShape),
                              hashAll(query.isEven), hashAll(query.start),
                              hashAll(query.goal));
  }
};

/// Every reduced path that was found, for as long as the process runs: values
/// of all sizes on all meshes have a few thousand in common. Threads search at
/// the same time.
class ReducedPaths {
public:
  /// The reference stays valid.
  const ReducedPath &get(Problem &problem) {
    {
      std::lock_guard lock(mutex);
      if (auto known = paths.find(problem.getQuery()); known != paths.end())
        return known->second;
    }
    ReducedPath path = findReducedPath(problem);
    std::lock_guard lock(mutex);
    return paths.try_emplace(problem.getQuery(), std::move(path)).first->second;
  }

private:
  std::mutex mutex;
  std::unordered_map<Query, ReducedPath, QueryHash> paths;
};

} // namespace
} // namespace reshard

ReshardPath findReshardPath(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                            const Sharding &from, const Sharding &to) {
  if (from == to)
    return {};
  static reshard::ReducedPaths paths;
  reshard::Problem problem(mesh, shape, from, to);
  const reshard::ReducedPath &path = paths.get(problem);
  if (!path)
    return {{}, /*found=*/false};
  return problem.getPath(*path);
}

//===----------------------------------------------------------------------===//
// Cache
//===----------------------------------------------------------------------===//

struct ReshardCache::Storage {
  struct Query {
    llvm::SmallVector<int64_t, 4> shape;
    Sharding from, to;

    bool operator==(const Query &other) const = default;
  };
  struct QueryHash {
    size_t operator()(const Query &query) const {
      return llvm::hash_combine(
          llvm::hash_combine_range(query.shape.begin(), query.shape.end()),
          query.from, query.to);
    }
  };

  std::mutex mutex;
  std::unordered_map<Query, ReshardPath, QueryHash> paths;
};

ReshardCache::ReshardCache(Mesh meshOfCache)
    : mesh(std::move(meshOfCache)), storage(std::make_unique<Storage>()) {}

ReshardCache::~ReshardCache() = default;

const ReshardPath &ReshardCache::get(llvm::ArrayRef<int64_t> shape,
                                     const Sharding &from, const Sharding &to) {
  Storage::Query query = {{shape.begin(), shape.end()}, from, to};
  {
    std::lock_guard lock(storage->mutex);
    if (auto known = storage->paths.find(query); known != storage->paths.end())
      return known->second;
  }
  ReshardPath path = findReshardPath(mesh, shape, from, to);
  std::lock_guard lock(storage->mutex);
  return storage->paths.try_emplace(std::move(query), std::move(path))
      .first->second;
}

//===----------------------------------------------------------------------===//
// Send
//===----------------------------------------------------------------------===//

std::vector<int64_t> getSendSources(const Mesh &mesh, const Sharding &before,
                                    const Move &send) {
  PARPLAN_CHECK(send.kind == MoveKind::send, "sources of ",
                stringifyMoveKind(send.kind).str());
  const Sharding &after = send.result;
  // Blocks of changed dimensions are equal exactly when their indices are
  // (S12).
  auto getBlock = [&](const Sharding &sharding, int64_t rank) {
    llvm::SmallVector<int64_t, 4> block;
    for (const AxisList &axes : sharding.dims)
      block.push_back(mesh.getIndex(rank, axes));
    return block;
  };
  std::vector<int64_t> sources(mesh.getRankCount(), -1);
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    llvm::SmallVector<int64_t> group = mesh.getGroup(rank, send.axes);
    if (group.front() != rank)
      continue;
    // Within a group: a rank keeps its block if it can, the others are served
    // in ascending order, each holder once.
    llvm::SmallVector<bool> taken(group.size(), false);
    for (size_t i = 0; i < group.size(); ++i)
      if (getBlock(before, group[i]) == getBlock(after, group[i])) {
        sources[group[i]] = group[i];
        taken[i] = true;
      }
    for (int64_t seeker : group) {
      if (sources[seeker] >= 0)
        continue;
      auto wanted = getBlock(after, seeker);
      for (size_t i = 0; i < group.size() && sources[seeker] < 0; ++i)
        if (!taken[i] && getBlock(before, group[i]) == wanted) {
          sources[seeker] = group[i];
          taken[i] = true;
        }
      PARPLAN_CHECK(sources[seeker] >= 0, "no rank holds the block of rank ",
                    seeker);
    }
  }
  return sources;
}

} // namespace parplan
