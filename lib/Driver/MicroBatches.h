//===- MicroBatches.h - Into how many parts a step is cut -------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_MICROBATCHES_H
#define PARPLAN_DRIVER_MICROBATCHES_H

#include "lib/Driver/Frontend.h"
#include "lib/Driver/Options.h"
#include "parplan/Cluster/Cluster.h"

namespace parplan {

/// The numbers of micro-batches to try for a pipeline whose user did not say
/// one, best first. More of them make the bubble smaller and products less
/// efficient: from as many as there are positions to eight times as many, a
/// plan is made for each, and the fastest is first. Those that have no plan,
/// and all other numbers, follow in ascending order.
///
/// Empty, after reporting, where the model or `--force` is at fault.
std::vector<int64_t>
rankMicroBatchCounts(mlir::MLIRContext &context, const CompileOptions &options,
                     const FrontendOptions &request, const Cluster &cluster,
                     int64_t memoryLimitBytes, DiagnosticEngine &engine);

/// The same where only last resorts fit, without those that have no plan; the
/// first of `counts` where none has one.
std::vector<int64_t>
rankLastResorts(mlir::MLIRContext &context, const CompileOptions &options,
                const FrontendOptions &request, const Cluster &cluster,
                int64_t memoryLimitBytes, std::vector<int64_t> counts);

} // namespace parplan

#endif // PARPLAN_DRIVER_MICROBATCHES_H
