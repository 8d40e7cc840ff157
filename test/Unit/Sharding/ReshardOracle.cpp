//===- ReshardOracle.cpp - Reshards by exhaustive search ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "ReshardOracle.h"

#include <functional>
#include <queue>
#include <set>

namespace parplan::test {

namespace {

class Oracle {
public:
  Oracle(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &goal)
      : mesh(mesh), shape(shape), goal(goal) {}

  OracleCost run(const Sharding &from) {
    offer(from, 0, 0);
    while (!queue.empty()) {
      auto [ring, calls, order] = queue.top();
      queue.pop();
      Sharding state = offered[order];
      if (state == goal)
        return {true, ring, calls};
      if (!seen.insert(toString(state, mesh)).second)
        continue;
      ringSoFar = ring;
      callsSoFar = calls;
      expand(state);
    }
    return {};
  }

private:
  void offer(Sharding state, int64_t ring, int64_t calls) {
    if (!state.isPartial())
      state.reduction = ReductionKind::sum;
    llvm::sort(state.partial);
    queue.emplace(ring, calls, offered.size());
    offered.push_back(std::move(state));
  }

  void local(const Sharding &state) { offer(state, ringSoFar, callsSoFar); }

  /// A call whose ring cost per rank is `ringTimesWidth` / `width`.
  void call(const Sharding &state, int64_t width, int64_t ringTimesWidth) {
    offer(state, ringSoFar + ringTimesWidth * (mesh.getRankCount() / width),
          callsSoFar + 1);
  }

  static bool has(llvm::ArrayRef<int> axes, int axis) {
    return llvm::is_contained(axes, axis);
  }

  static AxisList without(llvm::ArrayRef<int> axes, llvm::ArrayRef<int> gone) {
    AxisList kept;
    for (int axis : axes)
      if (!has(gone, axis))
        kept.push_back(axis);
    return kept;
  }

  /// Every ordered choice of at least one of `axes`.
  static void forEachArrangement(llvm::ArrayRef<int> axes, AxisList chosen,
                                 const std::function<void(AxisList)> &visit) {
    if (!chosen.empty())
      visit(chosen);
    for (int axis : axes) {
      if (has(chosen, axis))
        continue;
      AxisList longer = chosen;
      longer.push_back(axis);
      forEachArrangement(axes, longer, visit);
    }
  }

  void expand(const Sharding &state) {
    int64_t count = state.getLocalElementCount(mesh, shape);
    forEachArrangement(state.partial, {}, [&](AxisList axes) {
      Sharding after = state;
      after.partial = without(state.partial, axes);
      int64_t width = mesh.getWidth(axes);
      call(after, width, 2 * (width - 1) * count);
    });
    if (state.isStored()) {
      leaveStorage(state, count);
      return;
    }
    if (goal.isStored())
      enterStorage(state, count);
    growForFree(state);
    shorten(state, count);
    scatter(state, count);
    if (!state.isPartial())
      send(state, 0, state, count);
  }

  void leaveStorage(const Sharding &state, int64_t count) {
    int64_t width = mesh.getWidth(state.storage);
    Sharding after = state;
    after.storage.clear();
    call(after, width, (width - 1) * count * width);
    auto block = after.getLocalShape(mesh, shape);
    if (!block.empty() && block[0] % width == 0) {
      after.dims[0].append(state.storage.begin(), state.storage.end());
      local(after);
    }
  }

  void enterStorage(const Sharding &state, int64_t count) {
    AxisList used = state.getUsedAxes();
    int64_t width = mesh.getWidth(goal.storage);
    Sharding after = state;
    after.storage = goal.storage;
    if (without(goal.storage, used) == goal.storage)
      local(after);
    if (without(goal.storage, state.partial).empty()) {
      after.partial = without(state.partial, goal.storage);
      call(after, width, (width - 1) * ceilDivide(count, width) * width);
    }
    if (shape.empty())
      return;
    AxisList prefix = without(state.dims[0], goal.storage);
    AxisList whole = prefix;
    whole.append(goal.storage.begin(), goal.storage.end());
    if (whole != state.dims[0])
      return;
    if (ceilDivide(shape[0], mesh.getWidth(prefix)) % width == 0) {
      Sharding viewed = state;
      viewed.dims[0] = prefix;
      viewed.storage = goal.storage;
      local(viewed);
    }
  }

  void growForFree(const Sharding &state) {
    AxisList used = state.getUsedAxes();
    for (size_t dim = 0; dim < shape.size(); ++dim)
      for (int axis : goal.dims[dim])
        if (!has(used, axis)) {
          Sharding after = state;
          after.dims[dim].push_back(axis);
          local(after);
        }
    bool isSum = state.reduction == ReductionKind::sum || !state.isPartial();
    for (int axis : goal.partial)
      if (!has(used, axis) && goal.reduction == ReductionKind::sum && isSum) {
        Sharding after = state;
        after.partial.push_back(axis);
        local(after);
      }
  }

  int64_t getPiece(const Sharding &state, size_t dim, int64_t width,
                   int64_t count) {
    int64_t block = state.getLocalShape(mesh, shape)[dim];
    return count / block * ceilDivide(block, width);
  }

  void shorten(const Sharding &state, int64_t count) {
    for (size_t dim = 0; dim < shape.size(); ++dim)
      for (size_t kept = 0; kept < state.dims[dim].size(); ++kept) {
        AxisList moved(llvm::drop_begin(state.dims[dim], kept));
        int64_t width = mesh.getWidth(moved);
        Sharding gathered = state;
        gathered.dims[dim].truncate(kept);
        call(gathered, width, (width - 1) * count * width);
        for (size_t other = 0; other < shape.size(); ++other) {
          if (other == dim)
            continue;
          Sharding after = gathered;
          after.dims[other].append(moved.begin(), moved.end());
          call(after, width,
               (width - 1) * getPiece(state, other, width, count) * width);
        }
      }
  }

  void scatter(const Sharding &state, int64_t count) {
    forEachArrangement(state.partial, {}, [&](AxisList axes) {
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        if (!without(axes, goal.dims[dim]).empty())
          continue;
        Sharding after = state;
        after.partial = without(state.partial, axes);
        after.dims[dim].append(axes.begin(), axes.end());
        int64_t width = mesh.getWidth(axes);
        call(after, width,
             (width - 1) * getPiece(state, dim, width, count) * width);
      }
    });
  }

  void send(const Sharding &state, size_t dim, Sharding after, int64_t count) {
    if (dim == shape.size()) {
      if (!(after == state) && !verifySharding(after, mesh, shape.size()))
        call(after, 1, count);
      return;
    }
    send(state, dim + 1, after, count);
    std::vector<AxisList> options;
    AxisList target = goal.dims[dim];
    for (size_t length = 0; length <= target.size(); ++length)
      options.emplace_back(llvm::ArrayRef<int>(target).take_front(length));
    forEachArrangement(state.dims[dim], {}, [&](AxisList axes) {
      if (axes.size() == state.dims[dim].size())
        options.push_back(axes);
    });
    int64_t width = mesh.getWidth(state.dims[dim]);
    for (const AxisList &axes : options)
      if (mesh.getWidth(axes) == width && shape[dim] % width == 0 &&
          axes != state.dims[dim]) {
        after.dims[dim] = axes;
        send(state, dim + 1, after, count);
      }
  }

  using Entry = std::tuple<int64_t, int64_t, size_t>;

  const Mesh &mesh;
  llvm::ArrayRef<int64_t> shape;
  const Sharding &goal;
  std::vector<Sharding> offered;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::set<std::string> seen;
  int64_t ringSoFar = 0, callsSoFar = 0;
};

} // namespace

OracleCost findLeastCost(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                         const Sharding &from, const Sharding &to) {
  return Oracle(mesh, shape, to).run(from);
}

} // namespace parplan::test
