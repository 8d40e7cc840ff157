//===- checkpoint.cpp - Saving and resuming a run -------------------------===//

#include "checkpoint.h"
#include "array_file.h"
#include "element_convert.h"
#include "failure.h"
#include "output_file.h"
#include "safetensors.h"
#include "sha256.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace parplan {
namespace runtime {

namespace {

constexpr size_t keptCheckpoints = 2;

std::string tensorText(const StoredTensor &tensor) {
  std::string text = quoted(tensor.name) + " " + tensor.type + "[";
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(tensor.shape[i]);
  return text + "]";
}

std::vector<StoredTensor> tensorsOf(const std::vector<Variable> &variables) {
  std::vector<StoredTensor> tensors;
  for (const Variable &variable : variables) {
    const int64_t width = elementBytes(variable.type);
    for (size_t i = 0; i < variable.initializers.size(); ++i) {
      const Table<int64_t> &shape = variable.initializers[i]->shape;
      tensors.push_back({variable.key(i), safetensorsType(variable.type),
                         std::vector<int64_t>(shape.begin(), shape.end()),
                         width, variable.partElements() * width, 0,
                         variable.key()});
    }
  }
  return tensors;
}

/// What the checkpoint holds otherwise than the program; empty: the same.
std::string differencesOf(const std::vector<StoredTensor> &program,
                          const std::vector<StoredTensor> &checkpoint) {
  std::map<std::string, const StoredTensor *> stored;
  for (const StoredTensor &tensor : checkpoint)
    stored[tensor.name] = &tensor;
  std::vector<std::string> lines;
  for (const StoredTensor &tensor : program) {
    const auto found = stored.find(tensor.name);
    if (found == stored.end()) {
      lines.push_back("it lacks " + tensorText(tensor));
      continue;
    }
    if (found->second->type != tensor.type ||
        found->second->shape != tensor.shape ||
        found->second->bytes != tensor.bytes)
      lines.push_back("it holds " + tensorText(*found->second) + " for " +
                      tensorText(tensor));
    stored.erase(found);
  }
  for (const auto &entry : stored)
    lines.push_back("it holds " + tensorText(*entry.second) +
                    ", which is not trained here");
  std::string text;
  for (size_t i = 0; i < lines.size() && i < 5; ++i)
    text += (i ? "; " : "") + lines[i];
  if (lines.size() > 5)
    text += "; and " + std::to_string(lines.size() - 5) + " more";
  return text;
}

} // namespace

Checkpoints::Checkpoints(EngineRank &rank, World &world, const Options &options,
                         const std::vector<Variable> &variables,
                         std::string weightsFile)
    : rank(rank), world(world), options(options), variables(variables),
      weightsFile(std::move(weightsFile)) {
  if (options.checkpointFolder.empty() || world.rank() != 0)
    return;
  lockFolder();
  removeLeftovers(options.checkpointFolder);
  warnOfSpace();
  std::vector<BrokenCheckpoint> broken;
  for (const FoundCheckpoint &found :
       listCheckpoints(options.checkpointFolder, broken))
    lastSequence = std::max(lastSequence, found.manifest.sequence);
}

Checkpoints::~Checkpoints() {
  if (lock >= 0)
    close(lock);
}

void Checkpoints::lockFolder() {
  lock = ::open(options.checkpointFolder.c_str(),
                O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0)
    fail(exitCannotCreate, "cannot open the folder " +
                               quoted(options.checkpointFolder) + ": " +
                               std::strerror(errno));
  // Ranks of a run that was killed may need a moment to end.
  for (int tries = 0; flock(lock, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK)
      return; // A file system without locks.
    if (tries == 100)
      fail(exitDisagreement, "another run writes checkpoints to " +
                                 quoted(options.checkpointFolder));
    usleep(100000);
  }
}

/// A full disk is better known before the first step.
void Checkpoints::warnOfSpace() const {
  int64_t needed = 0;
  for (const Variable &variable : variables)
    needed += variable.elements * elementBytes(variable.type);
  needed *= keptCheckpoints + 1; // The next one is written before one goes.
  struct statvfs status;
  if (statvfs(options.checkpointFolder.c_str(), &status) != 0)
    return;
  const double room = static_cast<double>(status.f_bavail) *
                      static_cast<double>(status.f_frsize);
  if (room < static_cast<double>(needed))
    warn("checkpoints need " + std::to_string(needed >> 20) + " MiB in " +
         quoted(options.checkpointFolder) + ", where " +
         std::to_string(static_cast<int64_t>(room / (1 << 20))) +
         " MiB are free");
}

// --- resume
// ------------------------------------------------------------------------

void Checkpoints::requireSameModel(const std::string &path,
                                   const Manifest &manifest) {
  const std::string refusal =
      "the checkpoint " + quoted(path) + " is of another model: ";
  MappedFile file;
  std::string reason;
  std::vector<StoredTensor> stored;
  if (!file.open(stateFile(path), reason) ||
      !readTensors(file.data(), file.size(), stored, reason))
    fail(exitBadData, quoted(stateFile(path)) + ": " + reason);
  const std::string differences = differencesOf(tensorsOf(variables), stored);
  if (!differences.empty())
    fail(exitDisagreement, refusal + differences);
  const std::string model = rank.program().training->modelSha256;
  if (!model.empty() && !manifest.modelSha256.empty() &&
      model != manifest.modelSha256)
    fail(exitDisagreement, refusal + "its SHA-256 is " + manifest.modelSha256 +
                               ", that of this program's model " + model);
}

/// On rank 0: the checkpoint to go on from.
bool Checkpoints::choose(std::string &path, TrainingState &state) {
  Manifest manifest;
  std::string reason;
  if (options.resume != "auto") {
    path = options.resume;
    struct stat status;
    if (stat(path.c_str(), &status) != 0)
      fail(exitMissingInput, "cannot open the checkpoint " + quoted(path) +
                                 ": " + std::strerror(errno));
    if (!readManifest(path, manifest, reason) ||
        !verifyState(path, manifest, reason))
      fail(exitBadData,
           "the checkpoint " + quoted(path) + " is not whole: " + reason);
  } else {
    std::vector<BrokenCheckpoint> broken;
    const std::vector<FoundCheckpoint> found =
        listCheckpoints(options.checkpointFolder, broken);
    path.clear();
    for (const FoundCheckpoint &candidate : found) {
      if (verifyState(candidate.path, candidate.manifest, reason)) {
        path = candidate.path;
        manifest = candidate.manifest;
        break;
      }
      broken.push_back({candidate.name, reason});
    }
    for (const BrokenCheckpoint &entry : broken) {
      warn("the checkpoint " + quoted(entry.name) +
           " is not whole and is passed over: " + entry.reason);
      passedOver.push_back(entry.name);
    }
    if (path.empty() && !broken.empty())
      fail(exitBadData, "no checkpoint in " + quoted(options.checkpointFolder) +
                            " is whole; --resume none starts anew");
    if (path.empty())
      return false;
  }
  requireSameModel(path, manifest);
  state = manifest.state;
  return true;
}

const char *findElements(const Variable &variable, const char *file,
                         const std::map<std::string, int64_t> &offsets,
                         std::vector<char> &copy) {
  const int64_t bytes = variable.partElements() * elementBytes(variable.type);
  const int64_t first = offsets.at(variable.key());
  const size_t count = variable.initializers.size();
  const auto lies = [&](size_t part) {
    return offsets.at(variable.key(part)) ==
           first + static_cast<int64_t>(part) * bytes;
  };
  size_t inPlace = 1;
  while (inPlace < count && lies(inPlace))
    ++inPlace;
  if (inPlace == count)
    return file + first;
  copy.clear();
  for (size_t part = 0; part < count; ++part) {
    const char *elements = file + offsets.at(variable.key(part));
    copy.insert(copy.end(), elements, elements + bytes);
  }
  return copy.data();
}

bool Checkpoints::resume(TrainingState &state) {
  if (options.resume == "none")
    return false;
  struct Choice {
    bool found;
    TrainingState state;
    char path[PATH_MAX];
  };
  const std::unique_ptr<Choice> choice(new Choice());
  if (world.rank() == 0) {
    std::string path;
    choice->found = choose(path, choice->state);
    if (path.size() >= sizeof choice->path)
      fail(exitOptionValue, "--resume: the path is too long");
    std::memcpy(choice->path, path.c_str(), path.size() + 1);
    if (choice->found)
      std::fprintf(stderr, "program: resumes from step %lld in %s\n",
                   static_cast<long long>(choice->state.step),
                   quoted(path).c_str());
  }
  world.broadcastFromRoot(choice.get(), sizeof *choice);
  if (!choice->found)
    return false;
  const std::string path = stateFile(choice->path);
  MappedFile file;
  std::string reason;
  std::vector<StoredTensor> stored;
  if (!file.open(path, reason) ||
      !readTensors(file.data(), file.size(), stored, reason))
    fail(exitBadData, "cannot read " + quoted(path) + ": " + reason);
  std::map<std::string, int64_t> offsets;
  for (const StoredTensor &tensor : stored)
    offsets[tensor.name] = tensor.offset;
  for (const Variable &variable : variables) {
    std::vector<char> copy;
    restoreVariable(rank, variable,
                    findElements(variable, file.data(), offsets, copy));
  }
  const double lossScale = state.lossScale;
  state = choice->state;
  // Whether the loss is scaled is the program's matter.
  if (state.lossScale == 0 || lossScale == 0)
    state.lossScale = lossScale;
  return true;
}

// --- write
// -------------------------------------------------------------------------

void Checkpoints::write(const TrainingState &state) {
  const bool root = world.rank() == 0;
  const std::string &folder = options.checkpointFolder;
  const std::string name = checkpointName(state.step);
  const std::string partial = folder + "/" + name + ".partial";
  std::vector<StoredTensor> tensors = tensorsOf(variables);
  const std::string header =
      layOutTensors(tensors, "{\"format\":\"parplan-checkpoint-1\"}");
  struct Part {
    const Variable *variable;
    size_t number;
  };
  std::map<std::string, Part> byKey;
  for (const Variable &variable : variables)
    for (size_t i = 0; i < variable.initializers.size(); ++i)
      byKey[variable.key(i)] = {&variable, i};

  Manifest manifest;
  Sha256 digest;
  std::unique_ptr<OutputFile> file;
  const auto append = [&](const char *data, size_t bytes) {
    file->write(manifest.stateBytes, data, static_cast<int64_t>(bytes));
    digest.update(data, bytes);
    manifest.stateBytes += static_cast<int64_t>(bytes);
  };
  if (root) {
    removeLeftovers(folder);
    if (mkdir(partial.c_str(), 0777) != 0)
      fail(exitInputOutput,
           "cannot make " + quoted(partial) + ": " + std::strerror(errno));
    killPoint("folder", state.step);
    file.reset(new OutputFile(stateFile(partial)));
    append(header.data(), header.size());
  }
  // In the order of the file: by offset.
  const Variable *collected = nullptr;
  std::vector<char> elements;
  for (const StoredTensor &tensor : tensors) {
    const Part part = byKey[tensor.name];
    const Variable &variable = *part.variable;
    if (collected != &variable)
      elements = collectVariable(rank, world, variable, weightsFile);
    collected = &variable;
    const char *data =
        elements.data() + static_cast<int64_t>(part.number) * tensor.bytes;
    const int64_t bad =
        root ? findNotFinite(variable.type, data, variable.partElements()) : -1;
    if (bad >= 0) {
      file.reset();
      removeLeftovers(folder);
      fail(exitBadData, "element " + std::to_string(bad) + " of " +
                            quoted(tensor.name) + " is not finite after step " +
                            std::to_string(state.step) +
                            "; no checkpoint is written");
    }
    if (root)
      append(data, static_cast<size_t>(tensor.bytes));
    if (root && &tensor == &tensors.front())
      killPoint("half", state.step);
  }
  if (!root)
    return;
  file->commit();
  killPoint("state", state.step);
  manifest.state = state;
  manifest.sequence = lastSequence + 1;
  manifest.modelSha256 = rank.program().training->modelSha256;
  manifest.stateSha256 = digest.finish();
  const std::string text = manifestText(manifest);
  OutputFile manifestFile(partial + "/manifest.json");
  manifestFile.write(0, text.data(), static_cast<int64_t>(text.size()));
  manifestFile.commit();
  killPoint("manifest", state.step);
  if (!publishCheckpoint(folder, name))
    fail(exitInputOutput, "cannot finish the checkpoint " + quoted(name) +
                              ": " + std::strerror(errno));
  lastSequence = manifest.sequence;
  killPoint("published", state.step);
  for (const std::string &broken : passedOver)
    if (broken != name)
      removeCheckpoint(folder, broken);
  passedOver.clear();
  std::vector<BrokenCheckpoint> broken;
  const std::vector<FoundCheckpoint> found = listCheckpoints(folder, broken);
  for (size_t i = keptCheckpoints; i < found.size(); ++i)
    removeCheckpoint(folder, found[i].name);
  killPoint("pruned", state.step);
}

} // namespace runtime
} // namespace parplan
