//===- checkpoint_files.h - Checkpoints in a folder -----------------------===//
//
// A checkpoint is a folder step-NNNNNNNN with two files:
//   state.safetensors  every variable in the form of the model
//   manifest.json      the numbers of the run, the size and digest of the
//                      former, and last a digest of the manifest's own text
// It is written as step-NNNNNNNN.partial, made durable and renamed. One that is
// not wanted any more is renamed to step-NNNNNNNN.removed first. So a folder
// without suffix is whole at any moment.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_CHECKPOINT_FILES_H
#define PARPLAN_RUNTIME_LIB_CHECKPOINT_FILES_H

#include "schedule.h"

#include <string>
#include <vector>

namespace parplan {
namespace runtime {

struct Manifest {
  TrainingState state;
  /// Larger than that of every checkpoint which was in the folder before.
  int64_t sequence = 0;
  std::string modelSha256;
  int64_t stateBytes = 0;
  std::string stateSha256;
};

struct FoundCheckpoint {
  std::string path, name;
  Manifest manifest;
};
/// One that cannot be used, and why.
struct BrokenCheckpoint {
  std::string name, reason;
};

/// Name of the file of arrays in a checkpoint.
std::string stateFile(const std::string &checkpoint);

std::string manifestText(const Manifest &manifest);
/// False, with the reason, when the manifest is missing or not as written.
bool readManifest(const std::string &checkpoint, Manifest &manifest,
                  std::string &reason);
/// Compares the arrays with size and digest in the manifest.
bool verifyState(const std::string &checkpoint, const Manifest &manifest,
                 std::string &reason);

/// Checkpoints with a good manifest, the last one first; others go into
/// `broken`.
std::vector<FoundCheckpoint>
listCheckpoints(const std::string &folder,
                std::vector<BrokenCheckpoint> &broken);

/// step-NNNNNNNN.
std::string checkpointName(int64_t step);
/// Gives a finished FOLDER/NAME.partial its name, in place of what had it.
/// False, with errno, when that fails.
bool publishCheckpoint(const std::string &folder, const std::string &name);
/// Removes a checkpoint, or what is left of one.
void removeCheckpoint(const std::string &folder, const std::string &name);
/// Removes what runs that were killed have left.
void removeLeftovers(const std::string &folder);

/// Ends the process as SIGKILL does, at a point that a test names.
void killPoint(const char *name, int64_t step);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_CHECKPOINT_FILES_H
