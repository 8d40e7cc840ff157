//===- OperatorGroups.h - Operators of a plan, blocks together --*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_OPERATORGROUPS_H
#define PARPLAN_DRIVER_OPERATORGROUPS_H

#include "lib/Driver/PlanField.h"

#include <map>

namespace parplan {

/// A name of a model without its numbers: `/h.12/mlp/up_3` is `/h.*/mlp/up`.
std::string generalizeName(const std::string &name);

/// Nodes that are called alike and do the same.
struct OperatorGroup {
  /// The general name, and the ONNX operator.
  std::string name;
  std::string op;
  std::string algorithm;
  int64_t count = 0;
  /// Of a step, the backward pass and updates included.
  double flops = 0;
  /// Per call and axes, as `all_reduce over tp0`: bytes of a step.
  std::map<std::string, double> communication;

  double getCommunicationBytes() const;
};

/// The operators of a plan.json, those with most work first, then those that
/// communicate most. Operators of the backward pass belong to their node.
std::vector<OperatorGroup> groupOperators(PlanField plan);

/// `12 x column, 33 % of the work, all_reduce over tp0 1.50 MiB`; `allFlops`
/// are those of the step.
std::string describeGroup(const OperatorGroup &group, double allFlops);

} // namespace parplan

#endif // PARPLAN_DRIVER_OPERATORGROUPS_H
