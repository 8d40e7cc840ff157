//===- PlanDifference.h - What differs between two plans --------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_PLANDIFFERENCE_H
#define PARPLAN_DRIVER_PLANDIFFERENCE_H

#include "lib/Driver/PlanField.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

/// A thing that the first plan has so and the second otherwise.
struct Difference {
  std::string name;
  std::string before, after;
};

/// Nodes that are called alike and that the plans treat in the same two ways,
/// or at different cost.
struct OperatorDifference {
  /// The name without its numbers, and the ONNX operator.
  std::string name;
  std::string op;
  int64_t count = 0;
  std::string before, after;
  /// What the step of the second plan takes more, for everything that is done
  /// for the nodes: in total and by what it is for. In a pipeline, for a
  /// position on average.
  double costSeconds = 0;
  std::map<std::string, double> breakdown;
};

struct Change {
  double before = 0, after = 0;

  double get() const { return after - before; }
};

struct PlanDifference {
  /// Of the model, the machines, the configuration and the mesh.
  std::vector<Difference> settings;
  /// Counted: parameters that rest or are updated otherwise, operators in other
  /// stages.
  std::vector<Difference> counts;
  /// Those that cost most, either way, first.
  std::vector<OperatorDifference> operators;
  Change stepSeconds, peakBytes;
  /// Of all ranks together.
  Change communicationBytes;
  std::map<std::string, Change> breakdown;
  /// What the step of the second plan takes more besides the operators: waiting
  /// in a pipeline, transfers between tiers, messages of servers. Nothing where
  /// a plan does not say what its operators take.
  std::optional<double> restSeconds;
};

PlanDifference findDifference(PlanField before, PlanField after);

} // namespace parplan

#endif // PARPLAN_DRIVER_PLANDIFFERENCE_H
