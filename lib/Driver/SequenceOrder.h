//===- SequenceOrder.h - In which order a causal sequence lies --*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_SEQUENCEORDER_H
#define PARPLAN_DRIVER_SEQUENCEORDER_H

#include "lib/Driver/OrderChoice.h"
#include "lib/Driver/Planning.h"

namespace parplan {

/// A model in the order of its fastest plan.
struct OrderedModel {
  Frontend frontend;
  /// Absent where there is no causal attention that ranks could share.
  std::optional<SequenceSummary> order;
  /// The plan that is the fastest, where orders were compared.
  std::optional<Plan> plan;
  /// No plan with another order is faster than that.
  double othersBoundSeconds = std::numeric_limits<double>::infinity();
};

/// What orders are compared by.
struct OrderSearch {
  const Cluster &cluster;
  int64_t memoryLimitBytes = 0;
  /// For all orders together, and as much again for what follows.
  double seconds = 0;
  SearchEffort effort = SearchEffort::usual;
};

/// Finishes the model in its own order, and in zig-zag order over every number
/// of ranks that context parallelism could have, plans each, and returns the
/// fastest. A plan that is given has an order, which only is confirmed. Nothing
/// after an error.
std::optional<OrderedModel>
orderSequence(SimplifiedModel model, const CompileOptions &options,
              const FrontendOptions &request, const OrderSearch &search,
              IRDumper &dumper, DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_DRIVER_SEQUENCEORDER_H
