//===- ProcessorUse.h - Who uses the processors -----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_CLUSTER_PROCESSORUSE_H
#define PARPLAN_CLUSTER_PROCESSORUSE_H

#include "parplan/Support/Diagnostics.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace parplan {

/// Seconds of the processors that this process may use together, up to a
/// moment. Of a container's quota nothing is known.
struct ProcessorUse {
  /// That passed, busy or not.
  double allSeconds = 0;
  /// Of whatever program, other virtual machines included.
  double busySeconds = 0;
  /// Of this process and of its children that have ended.
  double ownSeconds = 0;
};

/// Up to now; none where the operating system does not say.
std::optional<ProcessorUse> getProcessorUse();

/// `allSeconds` and `busySeconds` of some processors, by their numbers, from
/// the text of /proc/stat (proc(5)); none where it says nothing of them.
std::optional<ProcessorUse>
parseProcessorUse(std::string_view stat, double ticksPerSecond,
                  const std::function<bool(int64_t)> &isOwn);

/// The share of these processors that other programs had from one moment to
/// another one.
double getShareOfOthers(const ProcessorUse &first, const ProcessorUse &last);

/// Warns if other programs had that share while a machine was measured: figures
/// include what they took, and are wrong once they end.
void warnOfOthers(double share, DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_CLUSTER_PROCESSORUSE_H
