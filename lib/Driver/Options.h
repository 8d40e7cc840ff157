//===- Options.h - What the user asks for -----------------------*- C++ -*-===//
//
// Part of parplan. Structs that are handed down; docs/cli.md has their meaning.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_OPTIONS_H
#define PARPLAN_DRIVER_OPTIONS_H

#include "parplan/Planner/PlanRequest.h"
#include "passes/Train/TrainingOptions.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

enum class Target { cuda, host };

/// Where a compilation stops.
enum class EmitStage { plan, ir, source, executable };

/// How a command prints.
struct OutputOptions {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  bool color = false;
};

struct CalibrationOptions {
  Target target = Target::host;
  int64_t ranks = 1;
  std::string outputPath;
};

/// The most devices that `--gpus` can ask for.
constexpr int64_t maxDevices = 65536;

/// What `--force` fixes. Only what this version can carry out is kept; the
/// parser refuses the rest.
struct ForceOptions {
  std::optional<int64_t> dataSize;
  /// `tp1d`, or a grid of several dimensions: at most one of them.
  std::optional<int64_t> tensorSize;
  std::optional<ForcedGrid> grid;
  std::optional<int64_t> contextSize;
  std::optional<int64_t> expertSize;
  std::optional<int64_t> pipelineSize;
  std::optional<bool> sequenceParallel;
  std::optional<int64_t> microBatches;
  std::optional<ForcedSchedule> schedule;
  std::optional<int> zeroStage;
  std::optional<RecomputeKind> recompute;
  std::optional<OffloadChoice> offload;
  /// The sizes above are those of the workers.
  std::optional<ServerChoice> servers;
  std::vector<ForcedAlgorithm> nodes;

  /// Something is fixed beside the number of micro-batches.
  bool hasMoreThanCounts() const {
    return dataSize || tensorSize || grid || contextSize || expertSize ||
           pipelineSize || sequenceParallel || schedule || zeroStage ||
           recompute || offload || servers || !nodes.empty();
  }
  /// A joint search looks at what is asked for: layouts of every block, in the
  /// model's order of the sequence, of what lies on devices.
  bool isOfJointSearch() const {
    return contextSize.value_or(1) == 1 && !servers && nodes.empty() &&
           (!offload || offload->isNone());
  }
};

enum class LearningRateKind { constant, linear, cosine };

/// How the learning rate changes: up over `warmupSteps`, then by the kind to
/// `finalFraction` of itself at `totalSteps`.
struct LearningRateOptions {
  LearningRateKind kind = LearningRateKind::constant;
  int64_t warmupSteps = 0;
  int64_t totalSteps = 0;
  double finalFraction = 0;
};

struct CompileOptions {
  std::string modelPath;
  int64_t gpus = 0;
  /// Preset or file; empty: the default of the target.
  std::string cluster;
  Target target = Target::host;
  std::map<std::string, int64_t> dimensions;
  std::optional<int64_t> globalBatch;
  ForceOptions force;
  /// The entries that `force` is of, as they were given.
  std::vector<std::string> forceEntries;
  /// Without it, a forward pass. Its micro-batches are the planner's to choose
  /// unless `force` says.
  std::optional<TrainingOptions> training;
  /// Of a forward pass; a training step has its own.
  ComputePrecision precision = ComputePrecision::fp32;
  LearningRateOptions learningRate;
  std::optional<int64_t> memoryLimitBytes;
  double timeBudgetSeconds = 60;
  std::optional<int64_t> seed;
  /// A plan to take instead of searching; empty: search.
  std::string planPath;
  std::string outputDirectory;
  EmitStage emit = EmitStage::executable;
  /// Where the module goes after each phase; empty: nowhere.
  std::string dumpDirectory;
  /// Who waits for the search.
  SearchControl control;
};

} // namespace parplan

#endif // PARPLAN_DRIVER_OPTIONS_H
