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
  int64_t steps = 1;
  double timeoutSeconds = 600;
  bool printLaunch = false;
  /// Empty: mpi on the host with several ranks, local or nccl on CUDA.
  std::string communicator;
  int64_t arenaBytes = 0;
  bool help = false;
};

/// Reads the command line; fails with exit code 2 (unknown options, missing
/// values) or 64 (values out of range).
Options parseOptions(int argc, char **argv);

/// What --help prints.
std::string usageText(const Program &program);

/// Checks the inputs given against the program: every input once (66 when one
/// is missing or a file is not there), no unknown names (64), and that each
/// file has the input's type and shape (65).
void checkInputs(const Program &program, const Options &options);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_OPTIONS_H
