//===- Calibration.h - A cluster from measurements --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// What the program of runtime/include/parplan_runtime/calibration.h measured on
// one machine, as a cluster file that `--cluster` reads. All ranks ran at the
// same time: the figures of a device are those of one rank that shares cores
// and memory with the others, and hold for as many ranks as were measured.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_CLUSTER_CALIBRATION_H
#define PARPLAN_CLUSTER_CALIBRATION_H

#include "parplan/Cluster/Cluster.h"
#include "parplan/Support/Diagnostics.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parplan {

/// What the operating system says.
struct Machine {
  std::string processor;
  int64_t cores = 1;
  int64_t memoryBytes = 0;
  /// Whose driver is there.
  int64_t gpus = 0;
};
Machine getMachine();

/// Sizes of the groups of `ranks` whose collectives are measured: those of the
/// last axes of a mesh with one axis per prime factor, the largest first. The
/// last one is all.
std::vector<int64_t> getMeasuredGroups(int64_t ranks);

/// The program that measures `ranks` ranks.
std::string printCalibrationProgram(int64_t ranks);

/// What ranks of a measuring program compute on.
enum class MeasuredDevices { processors, gpus };

/// The cluster of the document that it wrote; `file` names it in diagnostics.
std::optional<ClusterDescription> readCalibration(std::string_view text,
                                                  const std::string &file,
                                                  MeasuredDevices devices,
                                                  const Machine &machine,
                                                  DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_CLUSTER_CALIBRATION_H
