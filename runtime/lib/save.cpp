//===- save.cpp - The trained model as a file -----------------------------===//

#include "save.h"
#include "element_convert.h"
#include "failure.h"
#include "mapped_file.h"
#include "output_file.h"
#include "safetensors.h"

#include <algorithm>
#include <map>
#include <memory>

namespace parplan {
namespace runtime {

namespace {

/// The file, and where in it each initializer lies.
struct Target {
  std::unique_ptr<OutputFile> file;
  std::map<std::string, int64_t> offsets;
};

/// Copies a part of the model, little by little.
void copyModel(Target &target, const MappedFile &model, int64_t from,
               int64_t to, int64_t bytes) {
  constexpr int64_t most = 8 << 20;
  for (int64_t start = 0; start < bytes; start += most) {
    target.file->write(to + start, model.data() + from + start,
                       std::min(most, bytes - start));
    model.forget();
  }
}

void openOnnx(Target &target, const Program &program, const MappedFile &model) {
  copyModel(target, model, 0, 0, model.size());
  for (const SavedTensor &saved : program.training->saved)
    target.offsets[saved.name] = saved.fileOffset;
}

void openSafetensors(Target &target, const Program &program,
                     const MappedFile &model) {
  std::vector<StoredTensor> tensors;
  std::map<std::string, const SavedTensor *> sources;
  for (const SavedTensor &saved : program.training->saved) {
    const char *type = safetensorsType(saved.onnxType);
    if (!type) {
      warn(quoted(saved.name) +
           " has no element type of safetensors and is not saved");
      continue;
    }
    tensors.push_back(
        {saved.name, type,
         std::vector<int64_t>(saved.shape.begin(), saved.shape.end()),
         onnxElementBytes(saved.onnxType), saved.bytes, 0});
    sources[saved.name] = &saved;
  }
  const std::string header = layOutTensors(tensors, "{\"format\":\"pt\"}");
  target.file->write(0, header.data(), static_cast<int64_t>(header.size()));
  for (const StoredTensor &tensor : tensors) {
    target.offsets[tensor.name] = tensor.offset;
    copyModel(target, model, sources[tensor.name]->fileOffset, tensor.offset,
              tensor.bytes);
  }
}

/// Writes the elements of one initializer of a variable.
void writeTrained(Target &target, const Variable &variable,
                  const SavedTensor &saved, const char *elements) {
  const int64_t count = variable.partElements();
  const int64_t bad = findNotFinite(variable.type, elements, count);
  if (bad >= 0) {
    target.file.reset();
    fail(exitBadData, "element " + std::to_string(bad) + " of " +
                          quoted(saved.name) +
                          " is not finite after training; nothing is saved");
  }
  ElementType type;
  if (!elementTypeOfOnnx(saved.onnxType, type) ||
      saved.bytes != count * elementBytes(type))
    fail(exitInternal, quoted(saved.name) + " has another form in the model");
  const int64_t offset = target.offsets[saved.name];
  if (type == variable.type)
    return target.file->write(offset, elements, saved.bytes);
  std::vector<char> converted(static_cast<size_t>(saved.bytes));
  if (!convertElements(variable.type, elements, type, converted.data(), count))
    fail(exitInternal, quoted(saved.name) + " holds no numbers");
  target.file->write(offset, converted.data(), saved.bytes);
}

} // namespace

bool savesOnnx(const std::string &path) {
  const std::string suffix = ".onnx";
  return path.size() >= suffix.size() &&
         path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
}

void saveModel(EngineRank &rank, World &world,
               const std::vector<Variable> &variables, const std::string &path,
               const std::string &templateFile,
               const std::string &weightsFile) {
  const Program &program = rank.program();
  const bool root = world.rank() == 0;
  Target target;
  MappedFile model;
  if (root) {
    std::string reason;
    if (!model.open(templateFile, reason))
      fail(exitBadData, "cannot open " + quoted(templateFile) + ": " + reason);
    for (const SavedTensor &saved : program.training->saved)
      if (saved.fileOffset < 0 || saved.bytes < 0 ||
          saved.bytes > model.size() ||
          saved.fileOffset > model.size() - saved.bytes)
        fail(exitBadData, quoted(templateFile) + " is too short: " +
                              quoted(saved.name) + " lies outside of it");
    target.file.reset(new OutputFile(path));
    if (savesOnnx(path))
      openOnnx(target, program, model);
    else
      openSafetensors(target, program, model);
  }
  for (const Variable &variable : variables) {
    if (variable.slot)
      continue;
    const std::vector<char> elements =
        collectVariable(rank, world, variable, weightsFile);
    const int64_t bytes = variable.partElements() * elementBytes(variable.type);
    for (size_t part = 0; root && part < variable.initializers.size(); ++part)
      writeTrained(target, variable, *variable.initializers[part],
                   elements.data() + static_cast<int64_t>(part) * bytes);
  }
  if (root)
    target.file->commit();
}

} // namespace runtime
} // namespace parplan
