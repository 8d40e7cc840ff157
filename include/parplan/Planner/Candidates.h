//===- Candidates.h - The layouts that the planner considers ----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_CANDIDATES_H
#define PARPLAN_PLANNER_CANDIDATES_H

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

/// `column`: tensor axes on a free factor of the weight; `row`: on a contracted
/// factor; `replicate`: no tensor axis; `local`: anything else, and every op
/// that is no product and carries tensor axes. The weight is the operand
/// without the batch factor, else the right-hand side.
Algorithm getAlgorithm(const PlanningOp &op, const FactorAssignment &assignment,
                       const Mesh &mesh);

/// How many tensor axes an op may use: all of them, and the most that still fit
/// every factor of the problem that is smaller than all of them (8 key heads
/// under 64 ranks take 3 axes of size 2). Descending.
llvm::SmallVector<size_t> getAxisCounts(const PlanningProblem &problem,
                                        const Mesh &mesh);

/// True for ops that add up gradients, losses or squares: they may read terms
/// pending, so that a sum is reduced once.
bool mayReadPending(const PlanningOp &op);

/// Per op whether it may run on pieces of flattened blocks (ZeRO): updates,
/// sums of gradients of parameters, and casts of trained parameters.
std::vector<bool> findStorable(const PlanningProblem &problem);

/// True for the update of a parameter.
bool isUpdate(const PlanningProblem &problem, const PlanningOp &op);

/// The axes of `mesh` with role `data`, and the others.
AxisList getDataAxes(const Mesh &mesh);
AxisList getTensorAxes(const Mesh &mesh);

/// The axes over which something may be stored: all data axes, or the inner
/// ones alone (hybrid sharding). Empty without data axes.
llvm::SmallVector<AxisList> getStorageLists(const Mesh &mesh);

/// The assignments of an op on `mesh`, the simplest first: data axes on the
/// batch factor wherever it can be split; the first j tensor axes, for each j
/// of `axisCounts`, on one factor or shared by neighbouring factors of one
/// dimension (heads of grouped attention). Each of them also pending over axes
/// that are left, where the op may be so, and if `isStorable` stored.
std::vector<FactorAssignment> getAssignments(const PlanningOp &op,
                                             const Mesh &mesh,
                                             llvm::ArrayRef<size_t> axisCounts,
                                             bool isStorable = false);

/// The mesh of `data` by `tensor` ranks: `dp0`, and the prime factors of
/// `tensor` as `tp0`, `tp1`, .. with the largest first. Where `innerData`
/// divides `data`, the data axes are `dp0` and, of that size, `dp1`. Sizes of
/// one make no axis.
Mesh makeMesh(int64_t data, int64_t tensor, int64_t innerData = 1);

} // namespace parplan

#endif // PARPLAN_PLANNER_CANDIDATES_H
