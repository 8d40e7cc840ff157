//===- Stack.h - What the software on a cluster does ------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// The same operations on the same machines took 7 % longer with the software of
// 2021 than with that of 2022: which kernels compute them and what runs beside
// what is as much a part of a cluster as its links are. The defaults describe
// the programs that parplan emits; the stacks of published runs are in
// stacks.json.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_CLUSTER_STACK_H
#define PARPLAN_CLUSTER_STACK_H

#include <string>

namespace parplan {

enum class AttentionKernels {
  /// One kernel; scores stay on the chip.
  fused,
  /// Two products and kernels between them; scores are written and read, the
  /// masked half of them too.
  unfused,
};

/// What element-wise operations hand on in registers.
enum class ElementwiseKernels {
  /// Nothing: one kernel each.
  separate,
  /// Their result, to the only operation that reads it.
  chains,
  /// All results within a group of operations that no product parts:
  /// hand-written kernels for norms, activations and residuals.
  groups,
};

/// `name` is one of stacks.json, or of a cluster file's own.
struct Stack {
  std::string name = "parplan";
  AttentionKernels attention = AttentionKernels::fused;
  ElementwiseKernels elementwise = ElementwiseKernels::chains;
  /// The run drops out scores and both branches of a layer, which the model
  /// file does not say.
  bool hasDropout = false;
  /// Bytes of norms over those of one pass.
  double normTraffic = 1;
  /// Reductions of input gradients run beside the products of weight
  /// gradients.
  bool overlapsTensorGradients = false;
  /// Gradients of parameters are reduced beside the backward pass of the last
  /// micro-batch.
  bool overlapsGradientReduction = false;
  /// Stored parameters are gathered, and their gradients scattered, beside the
  /// passes.
  bool overlapsParameterGathers = false;
  /// The devices of a node that hold the same value send a piece of it each,
  /// and gather it behind the network.
  bool scattersMessages = false;
  /// Where a block is recomputed, all of it is, also what the backward pass
  /// does not read.
  bool recomputesWholeBlocks = false;

  bool operator==(const Stack &other) const = default;
};

} // namespace parplan

#endif // PARPLAN_CLUSTER_STACK_H
