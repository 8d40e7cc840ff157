//===- ForceRules.h - What --force cannot ask together ----------*- C++ -*-===//
//
// Part of parplan. Private to the driver. Every refusal says why, and which
// requests near it would do.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_FORCERULES_H
#define PARPLAN_DRIVER_FORCERULES_H

#include "lib/Driver/ForceKeys.h"
#include "lib/Driver/Options.h"
#include "parplan/Cluster/Cluster.h"
#include "parplan/Support/Diagnostics.h"

namespace parplan {

/// Every rank is in the same number of groups of these sizes: their product
/// divides `gpus`. False after reporting.
bool checkSizes(const ForcedSizes &forced, int64_t gpus,
                DiagnosticEngine &engine);

/// Sizes that are given leave a whole number of devices, and all devices where
/// data and tensor sizes are given; one kind of tensor parallelism at most.
void checkProduct(const std::vector<ForcedSizes> &given, int64_t gpus,
                  DiagnosticEngine &engine);

/// Servers are asked for by their mode, and leave a device to work. False after
/// reporting.
bool checkServers(int64_t servers, bool areCounted, bool haveMode, int64_t gpus,
                  DiagnosticEngine &engine);

/// Workers hold every parameter whole and on the device; without a common step
/// each of them works alone.
void checkWorkers(const ForceOptions &force, DiagnosticEngine &engine);

/// What the precision of a step does not allow. False after reporting.
bool checkServerPrecision(const CompileOptions &options,
                          DiagnosticEngine &engine);

/// ZeRO needs ranks that split samples, sequence parallelism the ranks of
/// tensor parallelism, a schedule the positions of a pipeline and as many
/// chunks as it says. The sizes obey `checkProduct`.
void checkCombinations(const ForceOptions &force, int64_t gpus,
                       DiagnosticEngine &engine);

/// The machines have the tiers that something is offloaded to. False after
/// reporting.
bool checkForceOnCluster(const ForceOptions &force, const Cluster &cluster,
                         DiagnosticEngine &engine);

/// What only the model decides: experts, sequences and heads are there, and as
/// many as ranks are to share them; operators for all stages. `loopObstacle`
/// says why a loop is no experts. False after reporting.
bool checkForceOnModel(const ForceOptions &force, int64_t gpus,
                       const PlanningProblem &problem,
                       const std::optional<std::string> &loopObstacle,
                       const std::string &modelPath, DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_DRIVER_FORCERULES_H
