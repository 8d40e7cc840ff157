//===- options.h - The command line of an emitted program -----------------===//

#ifndef PARPLAN_RUNTIME_LIB_OPTIONS_H
#define PARPLAN_RUNTIME_LIB_OPTIONS_H

#include "parplan_runtime/tables.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace parplan {
namespace runtime {

struct Options {
  /// 0: what the launcher says, else what the plan says.
  int64_t ranks = 0;
  /// NAME and FILE, in the order given.
  std::vector<std::pair<std::string, std::string>> inputs;
  std::string outputDirectory;
  std::string metricsFile;
  /// 0: one, or in training as many as go once through the data.
  int64_t steps = 0;
  double timeoutSeconds = 600;
  bool printLaunch = false;
  /// Empty: mpi on the host with several ranks, local or nccl on CUDA.
  std::string communicator;
  int64_t arenaBytes = 0;
  /// Where the NVMe tier lies; empty: a folder in the program's own.
  std::string nvmeFolder;
  bool help = false;

  // Of training programs.
  std::string dataFolder;
  std::string saveFile;
  std::string checkpointFolder;
  /// 0: at the end only.
  int64_t checkpointEvery = 0;
  /// "auto", "none" or a checkpoint's folder.
  std::string resume;
  /// Metrics of a run whose order of applications is repeated.
  std::string replayFile;
  /// Bytes of a token in tokens.bin; 0: the data are arrays.
  int64_t tokenBytes = 0;
  int64_t sequenceLength = 0;

  /// A signal ends the run only after the state is saved.
  bool savesWhenPreempted() const { return !checkpointFolder.empty(); }
};

/// Reads the command line of a program; fails with exit code 2 (unknown
/// options, missing values), 64 (values out of range) or 66 (no data).
Options parseOptions(const Program &program, int argc, char **argv);

/// What --help prints.
std::string usageText(const Program &program);

/// Checks the inputs given against the program: every input once (66 when one
/// is missing or a file is not there), no unknown names (64), and that each
/// file has the input's type and shape (65).
void checkInputs(const Program &program, const Options &options);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_OPTIONS_H
