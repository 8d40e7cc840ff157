//===- Kernels.h - Which values kernels hand on in registers ----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_KERNELS_H
#define PARPLAN_PLANNER_KERNELS_H

#include "parplan/Cluster/Cluster.h"
#include "parplan/Planner/PlanningProblem.h"

namespace parplan {

/// Says of every op what its kernels read and write in memory: sets
/// `movedBytes` and `isInReader`.
///
/// chains: what fusion makes of the program (passes/Schedule/FuseElementwise).
/// An element-wise op is computed inside of the only op that reads it if that
/// one is element-wise, too, and does not compute it several times.
///
///   y = a + b ; z = tanh(y)        reads a, b; writes z
///   y = a + b ; z = tanh(y) ; y*z  three kernels: y has two readers
///
/// groups: one kernel for each operator of the model and one for its gradient,
/// as in libraries of hand-written kernels; chains on top of that. Casts are
/// free: who reads the result reads what was cast, in the narrower type. The
/// gradients of weights read the inputs of their group once more.
///
/// What the plan moves between two ops is not known here: a reshard between
/// two ops of a kernel costs what it costs, and the bytes of the kernel on
/// top are left out.
void markKernels(PlanningProblem &problem, ElementwiseKernels kernels);

/// Says of every op whether the program computes it inside of its readers: sets
/// `fusedReads`, by the rule of chains, whatever a stack does. Sums over
/// micro-batches take in nothing: what they add up has its place in a bucket or
/// a sum.
void markFusion(PlanningProblem &problem);

/// Says of every value which share of its communication a stack exposes: sets
/// `exposedReduction` and `exposedGather`. What runs beside other work costs
/// `interference` of its seconds. That the other work is long enough is
/// assumed, so that costs stay sums; it is where groups of tensor axes stay in
/// a node.
void markOverlap(PlanningProblem &problem, const Stack &stack,
                 double interference);

/// All of it, and what moves in buckets, for the programs of a cluster.
void applyStack(PlanningProblem &problem,
                const ClusterDescription &description);

} // namespace parplan

#endif // PARPLAN_PLANNER_KERNELS_H
