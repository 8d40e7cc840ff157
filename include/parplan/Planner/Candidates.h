//===- Candidates.h - The layouts that the planner considers ----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_CANDIDATES_H
#define PARPLAN_PLANNER_CANDIDATES_H

#include "parplan/Planner/Grids.h"
#include "parplan/Planner/PlanningAnswer.h"

#include <array>
#include <string>
#include <vector>

namespace parplan {

/// How an op spreads over the axes that are not those of the data, by the names
/// of docs/cli.md. The first nine are of products, the next three of attention.
enum class Algorithm {
  replicate,
  row,
  column,
  summa2d,
  gather2d,
  tensor2_5d,
  tensor3d,
  expert,
  local,
  ring,
  allToAll,
  gather,
};

/// In the order in which documents list them.
constexpr std::array<Algorithm, 12> allAlgorithms = {
    Algorithm::replicate, Algorithm::row,      Algorithm::column,
    Algorithm::summa2d,   Algorithm::gather2d, Algorithm::tensor2_5d,
    Algorithm::tensor3d,  Algorithm::ring,     Algorithm::allToAll,
    Algorithm::gather,    Algorithm::expert,   Algorithm::local};

llvm::StringRef stringifyAlgorithm(Algorithm algorithm);
std::optional<Algorithm> parseAlgorithm(llvm::StringRef text);

/// True for matrix products and convolutions of the model (ONNX MatMul, Gemm,
/// Conv), the ops that a forced tensor kind speaks of. Ops of the backward pass
/// carry the node of their forward op and are none.
bool isProduct(const PlanningOp &op);
/// The product itself, and not the bias that its node adds.
bool isMultiplied(const PlanningOp &op);

/// The roles of the factors of a product whose one operand has no batch: its
/// weight.
struct ProductFactors {
  /// Of the weight and the result; of the weight and the other operand.
  llvm::SmallVector<int, 2> columns, contracted;
};

/// Nullopt for ops that sum over nothing, and for products of two operands with
/// a batch.
std::optional<ProductFactors> getProductFactors(const PlanningOp &op);

/// True for ops that bring tokens to experts or back: they have samples without
/// experts and samples of experts.
bool routesTokens(const PlanningOp &op);

/// Of products:
///
///   tensor axes on            name
///   -                         `replicate`
///   columns of the weight     `column`
///   contracted factors        `row`
///   rows, and one of both     `gather2d`; in a loop over panels `summa2d`, and
///                             `2.5d` if panels do not move over all of them
///   rows and both             `3d`
///   anything else             `local`
///
/// and `expert` if experts carry axes. Of attention: `ring`, `all-to-all` or
/// `gather` by what context axes do, or `local`. Of everything else `replicate`
/// or, with tensor axes, `local`.
Algorithm getAlgorithm(const PlanningOp &op, const FactorAssignment &assignment,
                       const Mesh &mesh);

/// The same by tensor axes alone: `expert` does not hide them.
Algorithm getTensorAlgorithm(const PlanningOp &op,
                             const FactorAssignment &assignment,
                             const Mesh &mesh);

/// The number of ranks that differ on tensor axes which the op uses.
int64_t getTensorWidth(const FactorAssignment &assignment, const Mesh &mesh);

/// True for ops that add up gradients, losses or squares: they may read terms
/// pending, so that a sum is reduced once.
bool mayReadPending(const PlanningOp &op);

/// Per op whether it may run on pieces of flattened blocks (ZeRO): updates,
/// sums of gradients of parameters, and casts of trained parameters.
std::vector<bool> findStorable(const PlanningProblem &problem);

/// True for the update of a parameter.
bool isUpdate(const PlanningProblem &problem, const PlanningOp &op);

/// The axes of `mesh` with a role, and of those the product of the sizes.
AxisList getAxes(const Mesh &mesh, AxisRole role);
AxisList getDataAxes(const Mesh &mesh);
AxisList getTensorAxes(const Mesh &mesh);

/// Data, context and expert axes, which split samples: ranks on them hold
/// alike what has neither samples nor experts.
AxisList getBatchAxes(const Mesh &mesh);

/// The axes over which something may be stored that has none of them on a
/// dimension: those of the batch, or those without the outer data axis (hybrid
/// sharding). Empty without such axes.
llvm::SmallVector<AxisList> getStorageLists(const Mesh &mesh);

/// Those that are in no list of `used`.
AxisList dropAxes(llvm::ArrayRef<int> axes, llvm::ArrayRef<AxisList> used);

/// What a mesh offers to every op.
struct MeshAxes {
  AxisList data, context, expert, tensor;
  /// See `getBatchAxes`.
  AxisList batch;
  /// How many tensor axes one factor may take: all of them, and the most that
  /// still fit every factor of the problem that is smaller than all of them (8
  /// key heads under 64 ranks take 3 axes of size 2). Descending.
  llvm::SmallVector<size_t> counts;
  std::vector<Grid> grids;
};

/// What the ops of a plan may use: a mesh and cuts of its tensor axes.
struct PlanSpace {
  Mesh mesh;
  std::vector<Grid> grids;
  /// A factor may take a part of the tensor axes, else all of them.
  bool hasParts = true;
  /// The `counts` of `MeshAxes`, where the problem does not decide.
  std::optional<llvm::SmallVector<size_t>> counts = std::nullopt;
};

MeshAxes getMeshAxes(const PlanningProblem &problem, const PlanSpace &space);

/// Where the axes of a value lie that nothing in the model decides: data and
/// expert axes on the batch, context axes on the sequence or behind them.
Sharding getLoadedSharding(const PlanningValue &value, const MeshAxes &axes,
                           const Mesh &mesh);

/// The assignments of an op on `mesh`, the simplest first. Data axes are on the
/// batch wherever it can be split, expert axes on the experts or else behind
/// them (of ops that route tokens the other way round, too: then tokens change
/// ranks in an all-to-all, else they are gathered), context axes on the
/// sequence or else behind both; of attention context axes also move panels of
/// the keys (ring) or are on the heads (all-to-all).
///
/// Each of these with tensor axes
/// * of 1D: the first j, for each j of `counts`, on one factor or shared by
///   neighbouring factors of one dimension (heads of grouped attention);
/// * of each grid, for a product: rows on the batch (where it is too small, on
///   the sequence), the rest on columns or contracted factors (Grids.h), with
///   and without panels; for other ops: rows likewise, columns on each other
///   factor; for ops on weights: the pairs of groups on the two largest
///   factors.
///
/// And each of all of them pending over axes that are left, where the op may be
/// so, and if `isStorable` stored.
std::vector<FactorAssignment> getAssignments(const PlanningOp &op,
                                             const Mesh &mesh,
                                             const MeshAxes &axes,
                                             bool isStorable = false);

/// Sizes of the axes of a mesh.
struct MeshSizes {
  int64_t data = 1;
  /// Of `data`, in an axis of its own where it divides.
  int64_t innerData = 1;
  int64_t context = 1, expert = 1;
  /// Sizes of the groups of tensor axes; their order is that of the axes.
  llvm::SmallVector<int64_t, 3> tensor;
};

/// The mesh with the axes `dp0`, `dp1`, then `cp*`, `ep*` and, per group,
/// `tp*`. All but those of the data are the prime factors of their size, the
/// largest first. Sizes of one make no axis.
Mesh makeMesh(const MeshSizes &sizes);

/// The mesh of `data` by `tensor` ranks.
Mesh makeMesh(int64_t data, int64_t tensor, int64_t innerData = 1);

/// A layout without its splits: the terms of the whole value, where it is a
/// pending sum.
Sharding getTerms(const Sharding &made);

} // namespace parplan

#endif // PARPLAN_PLANNER_CANDIDATES_H
