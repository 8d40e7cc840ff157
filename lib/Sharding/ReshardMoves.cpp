//===- ReshardMoves.cpp - The moves of a reshard --------------------------===//
//
// Part of parplan. Internal to lib/Sharding.
//
//===----------------------------------------------------------------------===//

#include "ReshardState.h"

#include <algorithm>

namespace parplan::reshard {

namespace {

/// Up to so many axes in one place all orders are tried; beyond, only those
/// that the goal has.
constexpr int maxPermutedAxes = 4;

/// Calls `callback` with every order of `axes`.
template <typename Callback>
void forEachPermutation(const Axes &axes, Callback callback) {
  std::array<int, maxAxes> order;
  std::copy(axes.begin(), axes.end(), order.begin());
  std::sort(order.begin(), order.begin() + axes.size());
  do {
    Axes permuted;
    for (int i = 0; i < axes.size(); ++i)
      permuted.push(order[i]);
    callback(permuted);
  } while (std::next_permutation(order.begin(), order.begin() + axes.size()));
}

/// Calls `callback` with every non-empty subset of `set`, larger ones first.
template <typename Callback>
void forEachSubset(AxisSet set, Callback callback) {
  for (AxisSet subset = set; subset != 0; subset = (subset - 1) & set)
    callback(subset);
}

/// The members of `set`, those of `order` first and in its order.
Axes getOrdered(AxisSet set, const Axes &order) {
  Axes axes;
  for (int axis : order)
    if (set >> axis & 1)
      axes.push(axis);
  set &= ~order.getSet();
  for (int axis = 0; axis < maxAxes; ++axis)
    if (set >> axis & 1)
      axes.push(axis);
  return axes;
}

} // namespace

/// The moves from one state; sizes are those of the table in docs/spec.md.
class StepGenerator {
public:
  StepGenerator(const Problem &problem, const State &state,
                StepCallback callback)
      : problem(problem), state(state), goal(problem.goal), callback(callback),
        used(state.getUsed()), count(problem.getLocalCount(state)) {
    for (size_t dim = 0; dim < state.dims.size(); ++dim)
      local.push_back(ceilDivide(problem.blockShape[dim],
                                 problem.getWidth(state.dims[dim])));
  }

  void run() {
    reducePending(); // On stored pieces too: they are smaller.
    if (!state.storage.empty()) {
      leaveStorage();
      return;
    }
    if (!goal.storage.empty())
      enterStorage();
    sliceAndPend();
    for (size_t dim = 0; dim < state.dims.size(); ++dim)
      shortenDim(static_cast<int>(dim));
    scatterPending();
    if (!state.partial) // S12
      send();
  }

private:
  void emit(Step step, const State &after) { callback(step, after); }

  /// A call of `sizeElements` in a group of `width`, each rank sending
  /// `ringElements`. Groups of one exchange nothing.
  void emitCall(MoveKind kind, const Axes &axes, int dim, int otherDim,
                int64_t width, int64_t sizeElements,
                int64_t ringElementsTimesWidth, const State &after) {
    Step step{kind, axes, dim, otherDim};
    if (width > 1) {
      step.sizeElements = sizeElements;
      step.ringElements = ringElementsTimesWidth * (problem.rankCount / width);
    }
    emit(step, after);
  }

  void reducePending() {
    forEachSubset(state.partial, [&](AxisSet subset) {
      State after = state;
      after.complete(subset);
      int64_t width = problem.getWidth(subset);
      emitCall(MoveKind::allReduce, getOrdered(subset, {}), Move::storage,
               Move::storage, width, count, 2 * (width - 1) * count, after);
    });
  }

  void leaveStorage() {
    int64_t width = problem.getWidth(state.storage);
    State after = state;
    after.storage = {};
    emitCall(MoveKind::allGather, state.storage, Move::storage, Move::storage,
             width, width * count, (width - 1) * count * width, after);
    if (!local.empty() && local[0] % width == 0) { // S6: pieces are rows.
      after.dims[0].append(state.storage);
      emit({MoveKind::view, state.storage, 0}, after);
    }
  }

  void enterStorage() {
    AxisSet wanted = goal.storage.getSet();
    int64_t width = problem.getWidth(goal.storage);
    State after = state;
    after.storage = goal.storage;
    if (!(used & wanted))
      emit({MoveKind::slice, goal.storage}, after);
    if ((state.partial & wanted) == wanted) {
      after.complete(wanted);
      int64_t piece = ceilDivide(count, width);
      emitCall(MoveKind::reduceScatter, goal.storage, Move::storage,
               Move::storage, width, width * piece, (width - 1) * piece * width,
               after);
    }
    if (state.dims.empty() || state.dims[0].size() < goal.storage.size())
      return;
    const Axes &axes = state.dims[0];
    int kept = axes.size() - goal.storage.size();
    if (!(axes.dropFront(kept) == goal.storage))
      return;
    Axes prefix = axes.takeFront(kept);
    if (ceilDivide(problem.blockShape[0], problem.getWidth(prefix)) % width ==
        0) { // S6
      State viewed = state;
      viewed.dims[0] = prefix;
      viewed.storage = goal.storage;
      emit({MoveKind::view, goal.storage, 0}, viewed);
    }
  }

  void sliceAndPend() {
    for (size_t dim = 0; dim < state.dims.size(); ++dim)
      for (int axis : goal.dims[dim])
        if (!(used >> axis & 1)) {
          State after = state;
          after.dims[dim].push(axis);
          Step step{MoveKind::slice, {}, static_cast<int>(dim)};
          step.axes.push(axis);
          emit(step, after);
        }
    if (goal.isMax || state.isMax)
      return;
    for (int axis : getOrdered(goal.partial & ~used, {})) {
      State after = state;
      after.partial |= AxisSet(1) << axis;
      Step step{MoveKind::pend, {}};
      step.axes.push(axis);
      emit(step, after);
    }
  }

  /// Gathers a minor suffix of a dimension or moves it to another one.
  void shortenDim(int dim) {
    const Axes &axes = state.dims[dim];
    for (int kept = 0; kept < axes.size(); ++kept) {
      Axes moved = axes.dropFront(kept);
      int64_t width = problem.getWidth(moved);
      State gathered = state;
      gathered.dims[dim] = axes.takeFront(kept);
      emitCall(MoveKind::allGather, moved, dim, Move::storage, width,
               width * count, (width - 1) * count * width, gathered);
      for (int other = 0; other < static_cast<int>(state.dims.size());
           ++other) {
        if (other == dim)
          continue;
        State after = gathered;
        after.dims[other].append(moved);
        int64_t piece = getPiece(other, width);
        emitCall(MoveKind::allToAll, moved, dim, other, width, width * piece,
                 (width - 1) * piece * width, after);
      }
    }
  }

  /// Elements of one of `width` padded pieces of the block along `dim`.
  int64_t getPiece(int dim, int64_t width) const {
    return count / std::max<int64_t>(local[dim], 1) *
           ceilDivide(local[dim], width);
  }

  void scatterPending() {
    for (int dim = 0; dim < static_cast<int>(state.dims.size()); ++dim)
      forEachSubset(state.partial & goal.dims[dim].getSet(), [&](AxisSet set) {
        Axes ordered = getOrdered(set, goal.dims[dim]);
        if (ordered.size() > maxPermutedAxes) {
          scatter(ordered, dim);
          return;
        }
        forEachPermutation(ordered,
                           [&](const Axes &axes) { scatter(axes, dim); });
      });
  }

  void scatter(const Axes &axes, int dim) {
    State after = state;
    after.complete(axes.getSet());
    after.dims[dim].append(axes);
    int64_t width = problem.getWidth(axes);
    int64_t piece = getPiece(dim, width);
    emitCall(MoveKind::reduceScatter, axes, dim, Move::storage, width,
             width * piece, (width - 1) * piece * width, after);
  }

  /// S12: the same blocks on other ranks, for all dimensions at once.
  void send() {
    llvm::SmallVector<llvm::SmallVector<Axes, 8>, 5> choices;
    for (size_t dim = 0; dim < state.dims.size(); ++dim)
      choices.push_back(getSendChoices(dim));
    State after = state;
    chooseSend(choices, 0, 0, /*changed=*/false, after);
  }

  llvm::SmallVector<Axes, 8> getSendChoices(size_t dim) const {
    const Axes &axes = state.dims[dim], &wanted = goal.dims[dim];
    int64_t width = problem.getWidth(axes);
    // First, so that it is there also where other orders are not.
    llvm::SmallVector<Axes, 8> choices = {axes};
    if (!problem.isEven[dim] || problem.blockShape[dim] % width != 0)
      return choices;
    auto add = [&](const Axes &choice) {
      if (!llvm::is_contained(choices, choice))
        choices.push_back(choice);
    };
    for (int length = 0; length <= wanted.size(); ++length)
      if (Axes front = wanted.takeFront(length);
          problem.getWidth(front) == width)
        add(front);
    if (axes.size() <= maxPermutedAxes) {
      forEachPermutation(axes, add);
      return choices;
    }
    // What stays in the order of the goal, then what leaves, by where it goes.
    Axes order = wanted;
    for (size_t other = 0; other < goal.dims.size(); ++other)
      if (other != dim)
        order.append(goal.dims[other]);
    add(getOrdered(axes.getSet(), order));
    return choices;
  }

  void
  chooseSend(const llvm::SmallVector<llvm::SmallVector<Axes, 8>, 5> &choices,
             size_t dim, AxisSet taken, bool changed, State &after) {
    if (dim == choices.size()) {
      // Axes of size one move no data.
      int64_t width = changed ? problem.rankCount : 1;
      if (changed)
        emitCall(MoveKind::send, {}, Move::storage, Move::storage, width, count,
                 count * width, after);
      return;
    }
    for (const Axes &choice : choices[dim]) {
      AxisSet set = choice.getSet();
      if (set & taken)
        continue;
      after.dims[dim] = choice;
      chooseSend(choices, dim + 1, taken | set,
                 changed || !(choice == state.dims[dim]), after);
    }
  }

  const Problem &problem;
  const State &state;
  const State &goal;
  StepCallback callback;
  AxisSet used;
  /// Elements per rank before the move, and the block of every dimension.
  int64_t count;
  llvm::SmallVector<int64_t, 5> local;
};

void Problem::forEachStep(const State &state, StepCallback callback) const {
  StepGenerator(*this, state, callback).run();
}

} // namespace parplan::reshard
