//===- Options.h - What the user asks for -----------------------*- C++ -*-===//
//
// Part of parplan. Structs that are handed down; docs/cli.md has their meaning.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_OPTIONS_H
#define PARPLAN_DRIVER_OPTIONS_H

#include "parplan/Planner/Solver.h"

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

/// What `--force` fixes. Only sizes that this version can carry out are kept;
/// the parser refuses the others.
struct ForceOptions {
  std::optional<int64_t> dataSize;
  std::optional<int64_t> tensorSize;
  std::vector<ForcedAlgorithm> nodes;
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
  std::optional<int64_t> memoryLimitBytes;
  double timeBudgetSeconds = 60;
  std::optional<int64_t> seed;
  /// A plan to take instead of searching; empty: search.
  std::string planPath;
  std::string outputDirectory;
  EmitStage emit = EmitStage::executable;
  /// Where the module goes after each phase; empty: nowhere.
  std::string dumpDirectory;
};

} // namespace parplan

#endif // PARPLAN_DRIVER_OPTIONS_H
