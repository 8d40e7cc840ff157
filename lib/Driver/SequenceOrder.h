//===- SequenceOrder.h - In which order a causal sequence lies --*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_SEQUENCEORDER_H
#define PARPLAN_DRIVER_SEQUENCEORDER_H

#include "lib/Driver/Frontend.h"
#include "lib/Driver/Options.h"
#include "lib/Report/PlanDocument.h"
#include "parplan/Cluster/Cluster.h"

#include <limits>

namespace parplan {

/// The order of the fastest plan.
struct SequenceChoice {
  /// Absent where there is no causal attention that ranks could share.
  std::optional<SequenceSummary> order;
  /// No plan with another order is faster than that.
  double othersBoundSeconds = std::numeric_limits<double>::infinity();

  int64_t getZigzag() const { return order ? order->zigzag : 1; }
};

/// Plans the model in its own order, which `frontend` has of it, and in zig-zag
/// order over every number of ranks that context parallelism could have; brings
/// `frontend` into the order of the fastest plan. It then may be empty, after
/// an error. A plan that is given has an order, which only is confirmed.
SequenceChoice
orderSequence(mlir::MLIRContext &context, const CompileOptions &options,
              const FrontendOptions &request, const Cluster &cluster,
              int64_t memoryLimitBytes, IRDumper &dumper,
              std::optional<Frontend> &frontend, DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_DRIVER_SEQUENCEORDER_H
