//===- ShardingRule.h - How the dimensions of an op correspond --*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SHARDING_SHARDINGRULE_H
#define PARPLAN_SHARDING_SHARDINGRULE_H

#include "parplan/Sharding/Sharding.h"

namespace parplan {

/// What axes on a factor mean.
enum class FactorKind {
  /// Blocks are independent; nothing is pending.
  parallel,
  /// Summed over: axes become pending `sum` on results that lack the factor.
  reduceSum,
  /// Maximum over: axes become pending `max` on results that lack the factor.
  reduceMax,
  /// Blocks depend on each other through reductions inside the op (softmax,
  /// norms, keys of attention): with axes the op must be decomposed first.
  coupled,
  /// Carries no axes (sliced, concatenated, scanned or indexed dimensions).
  blocked,
};

llvm::StringRef stringifyFactorKind(FactorKind kind);

struct Factor {
  std::string name;
  int64_t size = 1;
  FactorKind kind = FactorKind::parallel;
  /// What the op computes depends on the numbers of the elements: others name
  /// them (rows of an embedding), or it is about positions (causal attention).
  /// A block must know where it starts, and the elements keep their order.
  bool isNumbered = false;

  bool operator==(const Factor &other) const = default;
};

/// Factors of one dimension, major to minor; the dimension's size is their
/// product. Empty: the dimension is broadcast or of size one, and never split.
using DimFactors = llvm::SmallVector<int, 1>;
/// Factors of every dimension of one tensor.
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

/// In which operands an op is linear (S8, S9).
enum class Linearity {
  /// Reads complete values only.
  none,
  /// Linear in all operands together (add, cast, reshape): all are read pending
  /// over the same axes, or all complete.
  jointly,
  /// Linear in each operand alone (mul, matmul): at most one is read pending.
  separately,
};

/// The declarative answer of an op: its factors, and which dimensions of which
/// tensor they index. Example: matmul `mk,kn->mn` has the factors m, n
/// (parallel) and k (reduceSum).
struct ShardingRule {
  llvm::SmallVector<Factor, 6> factors;
  llvm::SmallVector<TensorFactors, 3> operands;
  llvm::SmallVector<TensorFactors, 1> results;
  Linearity linearity = Linearity::none;
  /// Elements of operands and results correspond one to one, but for tensors
  /// without dimensions, and zeros give zeros: the op may run on pieces of the
  /// flattened blocks (S6). A result without dimensions is a sum over all
  /// elements.
  bool flat = false;
  /// Factors over whose panels the op can run in a loop (S21): each is the only
  /// factor of its dimension wherever it indexes one.
  llvm::SmallVector<int, 2> panelFactors;

  /// The first factor of whose numbers the op depends on.
  std::optional<int> findNumbered() const;
  std::optional<int> findFactor(llvm::StringRef name) const;
};

/// Checks that factor names are distinct, that a factor indexes a tensor at
/// most once, and that dimensions with factors have their product as size.
/// Returns what is violated, or nullopt.
std::optional<std::string>
verifyRule(const ShardingRule &rule,
           llvm::ArrayRef<llvm::SmallVector<int64_t>> operandShapes,
           llvm::ArrayRef<llvm::SmallVector<int64_t>> resultShapes);

/// A loop of an op over panels of one factor (S21). Every tensor with the
/// factor lies split along it by those of `axes` that are on factors which the
/// tensor lacks: the op moves panels, where it would else read gathered
/// operands and make pending results.
struct PanelLoop {
  /// The factor, which carries no axes; -1: no loop.
  int factor = -1;
  /// The axes over which panels move, ascending; all on other factors.
  AxisList axes;

  bool exists() const { return factor >= 0; }
  bool operator==(const PanelLoop &other) const = default;
};

/// The whole intra-op decision: the axes of every factor. Everything else
/// (use layouts, made layouts, local sizes, pending axes) follows.
struct FactorAssignment {
  /// Per factor of the rule its axes, major to minor.
  llvm::SmallVector<AxisList, 6> axes;
  /// Axes over which linear operands are read, and results made, pending.
  AxisList pending;
  /// With `Linearity::separately`, the operand that is read pending.
  int pendingOperand = 0;
  /// Axes over which all tensors with dimensions are read and made in pieces
  /// of their flattened blocks (S6), major to minor; flat ops only.
  AxisList storage;
  PanelLoop panels;

  static FactorAssignment getReplicated(const ShardingRule &rule) {
    FactorAssignment assignment;
    assignment.axes.resize(rule.factors.size());
    return assignment;
  }
  bool operator==(const FactorAssignment &other) const = default;
};

/// Checks S1, S2, S7 and S8, that only flat ops are stored (S6), that blocked
/// factors carry no axes, that no result is pending as sum and as max, that
/// panels are of a factor that the op can loop over (S21), and for dimensions
/// of several factors that axes divide their factor and that earlier factors
/// are split fully (S10). Returns what is violated, with its number, or
/// nullopt. `rule` obeys `verifyRule`.
std::optional<std::string> verifyAssignment(const ShardingRule &rule,
                                            const FactorAssignment &assignment,
                                            const Mesh &mesh);

/// The axes that split the panel factor of a tensor with these factors, major
/// to minor; empty for a tensor without it (S21).
AxisList getPanelAxes(const TensorFactors &tensor,
                      const FactorAssignment &assignment);

/// Layout in which the op reads an operand (S7, S21). An operand without
/// dimensions is never stored.
Sharding getUseSharding(const ShardingRule &rule,
                        const FactorAssignment &assignment, int operand);

/// Layout in which the op makes a result, pending axes included (S7, S21). A
/// result without dimensions is pending over the storage of the others (S20).
Sharding getMadeSharding(const ShardingRule &rule,
                         const FactorAssignment &assignment, int result);

/// The axes on factors whose blocks depend on each other, ascending: with any
/// the op must be decomposed.
AxisList getCoupledAxes(const ShardingRule &rule,
                        const FactorAssignment &assignment);

/// ceil(size / width of its axes) per factor, whole blocks of a stored op: its
/// work is that divided by the width of the storage.
llvm::SmallVector<int64_t>
getLocalFactorSizes(const ShardingRule &rule,
                    const FactorAssignment &assignment, const Mesh &mesh);

/// True when an axis lies on a coupled factor: the op must be decomposed.
bool needsDecomposition(const ShardingRule &rule,
                        const FactorAssignment &assignment);

/// The assignment that reads operands as they lie. Every factor takes the axes
/// that the first operand (in order of `operands`) with axes on it has there;
/// axes that would make the assignment illegal are dropped. A linear op also
/// reads pending sums as they are: jointly linear over the union of the axes
/// (S9), separately linear in the first pending operand (S8). A flat op takes
/// the storage of its first stored operand.
FactorAssignment inferAssignment(const ShardingRule &rule,
                                 llvm::ArrayRef<Sharding> operands,
                                 const Mesh &mesh);

/// The rule of a reshape from `from` to `to` (equal element counts), linear
/// jointly: the common refinement of both shapes in factors f0, f1, ... (S10).
/// Dimensions of size one get no factor; what has no refinement gets a blocked
/// factor per dimension. A sharding of the operand survives the reshape without
/// communication exactly when an assignment of this rule has it as use
/// sharding.
///
///   (4, 6) -> (24)     f0=4 f1=6              [f0] [f1] -> [f0 f1]
///   (2, 6) -> (4, 3)   f0=2 f1=2 f2=3         [f0] [f1 f2] -> [f0 f1] [f2]
///   (4, 6) -> (6, 4)   f0=2, rest blocked     [f0 f1] [f2] -> [f0 f3] [f4]
ShardingRule getReshapeRule(llvm::ArrayRef<int64_t> from,
                            llvm::ArrayRef<int64_t> to);

} // namespace parplan

#endif // PARPLAN_SHARDING_SHARDINGRULE_H
