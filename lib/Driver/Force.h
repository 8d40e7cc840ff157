//===- Force.h - The list of --force ----------------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_FORCE_H
#define PARPLAN_DRIVER_FORCE_H

#include "lib/Driver/Options.h"
#include "parplan/Support/Diagnostics.h"

namespace parplan {

/// Reads the comma-separated list of `--force` for `gpus` devices, for a
/// training step or a forward pass. Reports every entry that is malformed,
/// unknown, impossible on that many devices, or not yet carried out; the result
/// is complete only without errors.
ForceOptions parseForce(std::string_view text, int64_t gpus, bool isTraining,
                        DiagnosticEngine &engine);

/// The entries of such a list, without those that are empty.
std::vector<std::string> splitForce(std::string_view text);

/// The values of `offload` that ask for a choice; none for no offload.
std::vector<std::string> printOffload(const OffloadChoice &choice);

} // namespace parplan

#endif // PARPLAN_DRIVER_FORCE_H
