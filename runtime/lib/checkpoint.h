//===- checkpoint.h - Saving and resuming a run ---------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_CHECKPOINT_H
#define PARPLAN_RUNTIME_LIB_CHECKPOINT_H

#include "checkpoint_files.h"
#include "options.h"
#include "variables.h"

#include <map>

namespace parplan {
namespace runtime {

/// The elements of a variable in a file whose tensors begin at `offsets`, by
/// their keys. Those of a stack are put together in `copy` only where its
/// initializers do not lie side by side: in files of older versions.
const char *findElements(const Variable &variable, const char *file,
                         const std::map<std::string, int64_t> &offsets,
                         std::vector<char> &copy);

/// The checkpoints of a run. Every rank has one; rank 0's does the writing.
class Checkpoints {
public:
  /// On rank 0 takes the folder for itself and removes what killed runs left.
  /// Fails with 78 when another run has it.
  Checkpoints(EngineRank &rank, World &world, const Options &options,
              const std::vector<Variable> &variables, std::string weightsFile);
  ~Checkpoints();

  /// Goes on from the checkpoint that --resume names: sets `state` and the
  /// variables. False when there is none to go on from. Fails with 66 (none at
  /// the path), 65 (not whole) or 78 (of another model). Collective.
  bool resume(TrainingState &state);
  /// Writes a checkpoint and removes all but the last two. Fails with 65, and
  /// leaves none of this step, when a value is not finite. Collective.
  void write(const TrainingState &state);

private:
  bool choose(std::string &path, TrainingState &state);
  void requireSameModel(const std::string &path, const Manifest &manifest);
  void lockFolder();
  void warnOfSpace() const;

  EngineRank &rank;
  World &world;
  const Options &options;
  const std::vector<Variable> &variables;
  const std::string weightsFile;
  int64_t lastSequence = 0;
  /// Names of those that are not whole; the next one written replaces them.
  std::vector<std::string> passedOver;
  int lock = -1;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_CHECKPOINT_H
