//===- checkpoint_files.cpp - Checkpoints in a folder ---------------------===//

#include "checkpoint_files.h"
#include "json_text.h"
#include "mapped_file.h"
#include "output_file.h"
#include "sha256.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace parplan {
namespace runtime {

namespace {

const char *const digestKey = " \"sha256\":\"";

std::string digestOf(const char *data, int64_t bytes) {
  Sha256 digest;
  digest.update(data, static_cast<size_t>(bytes));
  return digest.finish();
}

/// step-NNNNNNNN, and what follows the digits in `suffix`.
bool parseName(const std::string &name, int64_t &step, std::string &suffix) {
  if (name.compare(0, 5, "step-") != 0)
    return false;
  size_t end = 5;
  step = 0;
  for (; end < name.size() && name[end] >= '0' && name[end] <= '9'; ++end)
    step = end < 20 ? step * 10 + (name[end] - '0') : step;
  suffix = name.substr(end);
  return end >= 13 && end <= 20;
}

std::vector<std::string> entriesOf(const std::string &folder) {
  std::vector<std::string> names;
  if (DIR *directory = opendir(folder.c_str())) {
    while (const dirent *entry = readdir(directory))
      names.push_back(entry->d_name);
    closedir(directory);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Removes the files that a checkpoint has, and the folder if that was all.
void removeFiles(const std::string &path) {
  for (const char *file : {"manifest.json", "manifest.json.partial",
                           "state.safetensors", "state.safetensors.partial"})
    unlink((path + "/" + file).c_str());
  rmdir(path.c_str());
}

} // namespace

std::string stateFile(const std::string &checkpoint) {
  return checkpoint + "/state.safetensors";
}

std::string checkpointName(int64_t step) {
  char name[40];
  std::snprintf(name, sizeof name, "step-%08lld", static_cast<long long>(step));
  return name;
}

// --- manifests
// ---------------------------------------------------------------------

std::string manifestText(const Manifest &manifest) {
  const TrainingState &state = manifest.state;
  std::string text =
      "{\"format\":1,\n \"step\":" + std::to_string(state.step) +
      ",\n \"taken\":" + std::to_string(state.taken) +
      ",\n \"samples\":" + std::to_string(state.samples) +
      ",\n \"loss_scale\":" + jsonNumber(state.lossScale) +
      ",\n \"good_steps\":" + std::to_string(state.goodSteps) +
      ",\n \"sequence\":" + std::to_string(manifest.sequence) +
      ",\n \"model_sha256\":" + jsonString(manifest.modelSha256) +
      ",\n \"files\":[{\"name\":\"state.safetensors\",\"bytes\":" +
      std::to_string(manifest.stateBytes) +
      ",\"sha256\":" + jsonString(manifest.stateSha256) + "}],\n";
  const std::string digest =
      digestOf(text.data(), static_cast<int64_t>(text.size()));
  return text + digestKey + digest + "\"}\n";
}

bool readManifest(const std::string &checkpoint, Manifest &manifest,
                  std::string &reason) {
  MappedFile file;
  const std::string path = checkpoint + "/manifest.json";
  if (!file.open(path, reason)) {
    reason = "manifest.json: " + reason;
    return false;
  }
  reason = "manifest.json is not as it was written";
  if (file.size() > 65536)
    return false;
  const std::string text(file.data(), static_cast<size_t>(file.size()));
  const size_t last = text.rfind(digestKey);
  if (last == std::string::npos ||
      text.substr(last) !=
          digestKey + digestOf(text.data(), static_cast<int64_t>(last)) +
              "\"}\n")
    return false;
  JsonReader reader(text.data(), static_cast<int64_t>(text.size()));
  int64_t format = 0;
  reader.expect('{');
  do {
    const std::string key = reader.string();
    reader.expect(':');
    TrainingState &state = manifest.state;
    if (key == "format")
      format = reader.integer();
    else if (key == "step")
      state.step = reader.integer();
    else if (key == "taken")
      state.taken = reader.integer();
    else if (key == "samples")
      state.samples = reader.integer();
    else if (key == "loss_scale")
      state.lossScale = reader.number();
    else if (key == "good_steps")
      state.goodSteps = reader.integer();
    else if (key == "sequence")
      manifest.sequence = reader.integer();
    else if (key == "model_sha256")
      manifest.modelSha256 = reader.string();
    else if (key == "files") {
      reader.expect('[');
      reader.expect('{');
      do {
        const std::string field = reader.string();
        reader.expect(':');
        if (field == "bytes")
          manifest.stateBytes = reader.integer();
        else if (field == "sha256")
          manifest.stateSha256 = reader.string();
        else
          reader.skip();
      } while (reader.take(','));
      reader.expect('}');
      reader.expect(']');
    } else {
      reader.skip();
    }
  } while (reader.take(','));
  reader.expect('}');
  if (format > 1)
    reason = "its format is " + std::to_string(format) +
             ", which this program is too old for";
  return reader.good() && reader.atEnd() && format == 1 &&
         manifest.state.step >= 0 && manifest.state.samples >= 0;
}

bool verifyState(const std::string &checkpoint, const Manifest &manifest,
                 std::string &reason) {
  MappedFile file;
  if (!file.open(stateFile(checkpoint), reason)) {
    reason = "state.safetensors: " + reason;
    return false;
  }
  if (file.size() != manifest.stateBytes) {
    reason = "state.safetensors has " + std::to_string(file.size()) +
             " bytes, not " + std::to_string(manifest.stateBytes);
    return false;
  }
  reason = "state.safetensors is not as it was written";
  return digestOf(file.data(), file.size()) == manifest.stateSha256;
}

// --- folders
// -----------------------------------------------------------------------

std::vector<FoundCheckpoint>
listCheckpoints(const std::string &folder,
                std::vector<BrokenCheckpoint> &broken) {
  std::vector<FoundCheckpoint> found;
  for (const std::string &name : entriesOf(folder)) {
    int64_t step;
    std::string suffix, reason;
    if (!parseName(name, step, suffix) || !suffix.empty())
      continue;
    FoundCheckpoint checkpoint = {folder + "/" + name, name, {}};
    if (readManifest(checkpoint.path, checkpoint.manifest, reason))
      found.push_back(std::move(checkpoint));
    else
      broken.push_back({name, reason});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const FoundCheckpoint &a, const FoundCheckpoint &b) {
                     return a.manifest.sequence > b.manifest.sequence;
                   });
  return found;
}

bool publishCheckpoint(const std::string &folder, const std::string &name) {
  const std::string final = folder + "/" + name;
  const std::string partial = final + ".partial";
  if (!synchronizeFolder(partial))
    return false;
  if (std::rename(partial.c_str(), final.c_str()) != 0) {
    // One of the same step is there already: the two change names at once.
    if ((errno != EEXIST && errno != ENOTEMPTY) ||
        renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, final.c_str(),
                  RENAME_EXCHANGE) != 0)
      return false;
    removeFiles(partial);
  }
  return synchronizeFolder(folder);
}

void removeCheckpoint(const std::string &folder, const std::string &name) {
  const std::string path = folder + "/" + name;
  const std::string removed = path + ".removed";
  removeFiles(removed);
  if (std::rename(path.c_str(), removed.c_str()) == 0)
    removeFiles(removed);
}

void removeLeftovers(const std::string &folder) {
  for (const std::string &name : entriesOf(folder)) {
    int64_t step;
    std::string suffix;
    if (parseName(name, step, suffix) &&
        (suffix == ".partial" || suffix == ".removed"))
      removeFiles(folder + "/" + name);
  }
}

void killPoint(const char *name, int64_t step) {
  const char *wanted = std::getenv("PARPLAN_TEST_KILL");
  if (wanted && name + (":" + std::to_string(step)) == wanted)
    raise(SIGKILL);
}

} // namespace runtime
} // namespace parplan
