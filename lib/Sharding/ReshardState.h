//===- ReshardState.h - States of the reshard search ------------*- C++ -*-===//
//
// Part of parplan. Internal to lib/Sharding.
//
// The search works on a reduced problem: only axes that `from` or `to` use, and
// without the axes that lead a dimension in both, which stay where they are.
// Those that are neighbours in both are one where they split samples, and
// otherwise where there are many, unless they cut a padded dimension. What is
// left of a dimension is divided by what all axes divide evenly anyway, and
// axes of one size are numbered by where they are: values of other sizes and
// the same moves of other axes are then the same problem.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_SHARDING_RESHARDSTATE_H
#define PARPLAN_LIB_SHARDING_RESHARDSTATE_H

#include "parplan/Sharding/Reshard.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <unordered_map>

namespace parplan::reshard {

/// At most this many reduced axes take part in one reshard.
constexpr int maxAxes = 16;

/// Up to so many axes are searched one by one, but for those of samples: a send
/// may have one of two neighbours in another's place.
constexpr int maxSingleAxes = 4;

/// Set of reduced axes, one bit each.
using AxisSet = uint32_t;

/// Short list of reduced axes, major to minor.
class Axes {
public:
  int size() const { return count; }
  bool empty() const { return count == 0; }
  int operator[](int index) const { return items[index]; }
  const uint8_t *begin() const { return items.data(); }
  const uint8_t *end() const { return items.data() + count; }
  void push(int axis) { items[count++] = static_cast<uint8_t>(axis); }
  void append(const Axes &other) {
    for (int axis : other)
      push(axis);
  }
  Axes takeFront(int length) const {
    Axes front;
    for (int i = 0; i < length; ++i)
      front.push(items[i]);
    return front;
  }
  Axes dropFront(int length) const {
    Axes back;
    for (int i = length; i < count; ++i)
      back.push(items[i]);
    return back;
  }
  AxisSet getSet() const {
    AxisSet set = 0;
    for (int axis : *this)
      set |= AxisSet(1) << axis;
    return set;
  }
  bool operator==(const Axes &other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

private:
  uint8_t count = 0;
  std::array<uint8_t, maxAxes> items = {};
};

struct AxesHash {
  size_t operator()(const Axes &axes) const {
    return llvm::hash_combine_range(axes.begin(), axes.end());
  }
};

/// A sharding of the reduced problem.
struct State {
  llvm::SmallVector<Axes, 5> dims;
  Axes storage;
  AxisSet partial = 0;
  bool isMax = false;

  AxisSet getUsed() const;
  /// Removes pending axes; a complete value has no kind.
  void complete(AxisSet axes);
};

/// `State` in 32 bytes: place and position of every axis.
using Key = std::array<uint16_t, maxAxes>;
Key encode(const State &state);
State decode(const Key &key, size_t rank);

/// A move between states; the same meaning as `Move`.
struct Step {
  MoveKind kind;
  Axes axes;
  int dim = Move::storage;
  int otherDim = Move::storage;
  int64_t sizeElements = 0;
  /// Ring elements of all ranks of the reduced mesh.
  int64_t ringElements = 0;
};

using StepCallback = llvm::function_ref<void(const Step &, const State &)>;

/// What a reduced path depends on: equal queries have equal ones.
struct Query {
  llvm::SmallVector<int64_t, maxAxes> sizes;
  llvm::SmallVector<int64_t, 4> blockShape;
  /// Per dimension whether the axes that stay divide it.
  llvm::SmallVector<bool, 4> isEven;
  Key start, goal;

  bool operator==(const Query &other) const = default;
};

/// One step of a reduced path, and the state after it.
struct ReachedState {
  Step step;
  State state;
};

/// The reduced problem.
class Problem {
public:
  Problem(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
          const Sharding &to);

  const State &getStart() const { return start; }
  const State &getGoal() const { return goal; }
  Query getQuery() const;

  /// Calls `callback` with every single move from `state` that can lie on a
  /// cheapest path to the goal.
  void forEachStep(const State &state, StepCallback callback) const;

  /// Comes before any lower bound.
  void sampleRanks();

  /// A lower bound of the ring elements of all reduced ranks from `state` to
  /// the goal. It never falls by more than a step costs.
  int64_t getLowerBound(const State &state) const;

  /// The moves of a reduced path, in the axes and elements of the whole
  /// problem.
  ReshardPath getPath(llvm::ArrayRef<ReachedState> reached) const;

private:
  friend class StepGenerator;

  void nameAxes(const Sharding &from, const Sharding &to,
                llvm::ArrayRef<int> moved);
  llvm::SmallVector<bool, 4> findPadded(const Sharding &from,
                                        const Sharding &to) const;
  llvm::SmallVector<AxisList, maxAxes>
  joinNeighbours(const Sharding &from, const Sharding &to,
                 llvm::ArrayRef<int> ordered) const;
  State reduce(const Sharding &sharding) const;
  Sharding expand(const State &state) const;
  AxisList expand(const Axes &axes) const;
  int64_t getWidth(const Axes &axes) const;
  int64_t getWidth(AxisSet axes) const;
  int64_t getLocalCount(const State &state) const;
  Move getMove(const Step &step, const State &before, const State &after) const;
  void divideBlocks();
  int64_t getLackingElements(const State &state) const;
  /// Of blocks cut over such axes.
  int64_t getLackingElements(llvm::ArrayRef<Axes> present,
                             llvm::ArrayRef<Axes> wanted) const;
  /// What each of the sampled ranks holds of a dimension.
  const std::vector<Interval> &getHeld(size_t dim, const Axes &axes) const;

  const Mesh &mesh;
  /// Axes of the mesh that each reduced axis stands for, major to minor.
  llvm::SmallVector<AxisList, maxAxes> meshAxes;
  llvm::SmallVector<int64_t, maxAxes> sizes;
  int64_t rankCount = 1;
  /// Axes that lead a dimension in both shardings, whether they divide it, and
  /// the blocks they leave, divided; all elements were divided by `scale`.
  llvm::SmallVector<AxisList, 4> prefixes;
  llvm::SmallVector<bool, 4> isEven;
  llvm::SmallVector<int64_t, 4> blockShape;
  int64_t scale = 1;
  State start, goal;
  /// Ranks of which the lower bound looks at what they lack, by their
  /// coordinates.
  std::vector<std::array<int32_t, maxAxes>> sampledRanks;
  /// Per dimension, by the axes that cut it: states have few different ones.
  mutable std::vector<std::unordered_map<Axes, std::vector<Interval>, AxesHash>>
      held;
};

} // namespace parplan::reshard

#endif // PARPLAN_LIB_SHARDING_RESHARDSTATE_H
