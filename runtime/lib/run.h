//===- run.h - One run of a program ---------------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_RUN_H
#define PARPLAN_RUNTIME_LIB_RUN_H

#include "failure.h"
#include "metrics.h"
#include "options.h"

#include <string>
#include <utility>

namespace parplan {
namespace runtime {

/// One run, as all ranks of this process see it.
struct Run {
  Run(const Program &program, Options options)
      : program(program), options(std::move(options)) {}

  const Program &program;
  Options options;
  int ranks = 1;
  /// Files of the output directory, which the executable lies in.
  std::string weightsFile;
  std::string templateFile;
  /// Rank 0's, for the metrics of a failed run.
  EngineRank *root = nullptr;
  const World *rootWorld = nullptr;
  Metrics metrics;
};

/// Fails with 70 when the order of communication of the last step is not the
/// plan's.
void checkOrder(const Program &program, int rank, const std::string &order);

/// What can be known of a training run before ranks start.
void checkTraining(const Run &run);

/// Trains, with checkpoints, and saves the model. `order` becomes the digest of
/// the last step. Returns the exit code: done, or preempted with the state
/// saved. Collective.
ExitCode trainSteps(Run &run, EngineRank &rank, World &world,
                    std::string &order);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_RUN_H
