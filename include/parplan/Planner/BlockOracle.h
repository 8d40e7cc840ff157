//===- BlockOracle.h - The best plans of one block --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// A search over stages asks about blocks again and again, with other weights on
// time and memory. What it needs is the least weighted cost of a block for each
// layout in which its input and its output may lie; the blocks of a stage are
// then a sum of such matrices.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_BLOCKORACLE_H
#define PARPLAN_PLANNER_BLOCKORACLE_H

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace parplan {

/// What a plan of a block costs. Passes are of one micro-batch; what is once
/// per step is either before all positions meet (reductions of gradients, their
/// norm) or at the ends (before the first pass, and updates after meeting).
struct CostVector {
  double forward = 0, inputGradient = 0, weightGradient = 0;
  double meeting = 0, ends = 0;
  /// For the whole step, per micro-batch that waits for its backward pass, and
  /// per one that waits for its weight gradients alone.
  double permanentBytes = 0, savedBytes = 0, waitingBytes = 0;

  CostVector &operator+=(const CostVector &other) {
    forward += other.forward;
    inputGradient += other.inputGradient;
    weightGradient += other.weightGradient;
    meeting += other.meeting;
    ends += other.ends;
    permanentBytes += other.permanentBytes;
    savedBytes += other.savedBytes;
    waitingBytes += other.waitingBytes;
    return *this;
  }
  CostVector &operator*=(double factor) {
    for (double *component :
         {&forward, &inputGradient, &weightGradient, &meeting, &ends,
          &permanentBytes, &savedBytes, &waitingBytes})
      *component *= factor;
    return *this;
  }
  bool operator==(const CostVector &other) const = default;
};

/// Prices of the components of a cost; none is negative.
struct Weights {
  double forward = 1, inputGradient = 1, weightGradient = 1;
  double meeting = 1, ends = 1;
  double permanentBytes = 0, savedBytes = 0, waitingBytes = 0;

  double get(const CostVector &cost) const {
    return forward * cost.forward + inputGradient * cost.inputGradient +
           weightGradient * cost.weightGradient + meeting * cost.meeting +
           ends * cost.ends + permanentBytes * cost.permanentBytes +
           savedBytes * cost.savedBytes + waitingBytes * cost.waitingBytes;
  }
  /// No cost has a lower price.
  bool isNoLess(const Weights &other) const {
    return forward >= other.forward && inputGradient >= other.inputGradient &&
           weightGradient >= other.weightGradient && meeting >= other.meeting &&
           ends >= other.ends && permanentBytes >= other.permanentBytes &&
           savedBytes >= other.savedBytes && waitingBytes >= other.waitingBytes;
  }
  bool operator==(const Weights &other) const = default;
};

/// Which ways of keeping activations a block may use (recomputation), one
/// bit each; bit 0: everything is kept.
using ModeSet = uint32_t;
constexpr ModeSet keepMode = 1;
constexpr ModeSet allModes = ~ModeSet(0);

/// One choice for everything in a block.
struct BlockPlan {
  /// The states of the boundaries before and behind it.
  int in = 0, out = 0;
  /// The number of a bit of `ModeSet`.
  int mode = 0;
  /// What the oracle needs to expand it.
  std::vector<int> choices;
  CostVector cost;

  bool operator==(const BlockPlan &other) const = default;
};

/// Row by row the states of the boundary before the block.
struct BoundaryMatrix {
  int inCount = 1, outCount = 1;
  std::vector<double> costs;

  static constexpr double impossible = std::numeric_limits<double>::infinity();
  double get(int in, int out) const { return costs[in * outCount + out]; }
};

/// One block of a run of equal ones, or what is outside of runs, on one mesh
/// and for one size of micro-batches. Equal questions have equal answers.
class BlockOracle {
public:
  virtual ~BlockOracle() = default;

  /// States of the boundaries; of a run, equally many. 1 where there is none.
  virtual int getInCount() const = 0;
  virtual int getOutCount() const = 0;
  /// Bits of `ModeSet` that mean anything here: the lowest ones.
  virtual int getModeCount() const { return 1; }

  /// The least weighted cost per pair of states, over the modes; or a lower
  /// bound of it.
  virtual BoundaryMatrix minimise(const Weights &weights, ModeSet modes) = 0;

  /// The least of that over all pairs of states, and what the plan costs that
  /// has it: nothing where there is but a bound.
  struct Least {
    double value = BoundaryMatrix::impossible;
    CostVector cost;
  };
  virtual Least getLeast(const Weights &weights, ModeSet modes);
  /// Its value alone, which takes less time.
  virtual double getLeastValue(const Weights &weights, ModeSet modes) {
    return getLeast(weights, modes).value;
  }
  /// A lower bound of that value which follows from others that were asked for,
  /// in next to no time.
  virtual double getKnownValue(const Weights & /*weights*/,
                               ModeSet /*modes*/) const {
    return 0;
  }

  /// A plan that reaches an entry; if not exact any good one. Nullopt where the
  /// entry is impossible, or there is but a bound.
  virtual std::optional<BlockPlan> getPlan(const Weights &weights,
                                           ModeSet modes, int in, int out) = 0;

  /// Bytes that a pass over the block needs beside those that such a plan
  /// costs, about. Of blocks of a position only one at a time has them.
  virtual double getWorkBytes(const BlockPlan & /*plan*/) { return 0; }
};

} // namespace parplan

#endif // PARPLAN_PLANNER_BLOCKORACLE_H
