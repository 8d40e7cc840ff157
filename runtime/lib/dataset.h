//===- dataset.h - The samples of a training run --------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_DATASET_H
#define PARPLAN_RUNTIME_LIB_DATASET_H

#include "array_file.h"
#include "block_walk.h"
#include "engine.h"
#include "options.h"

#include <memory>
#include <vector>

namespace parplan {
namespace runtime {

/// The samples in DIR: INPUT.npy for every input of the model and labels.npy,
/// or tokens.bin, whose samples are L + 1 token ids each: the first L are the
/// input, the last L the labels. Files are mapped, not read; samples are taken
/// in order and wrap round.
class Dataset {
public:
  /// Opens and checks the files. Fails with 66 (missing), 65 (malformed, of
  /// another type or shape, too short) or 64 (options that do not fit).
  Dataset(const Program &program, const Options &options);

  /// Looks at every label; fails with 65, naming the first sample with one that
  /// is neither -100 nor a class.
  void checkLabels() const;

  int64_t samples() const { return count; }
  /// Samples of one step.
  int64_t batch() const { return stepSamples; }

  /// Chooses this rank's blocks, and loads inputs that have no samples. What
  /// other stages read is forgotten.
  void attach(EngineRank &rank);
  /// Copies this rank's part of the step that starts with sample `first` (of
  /// all passes) into the arena. Nothing is allocated.
  void load(int64_t first);

private:
  struct Source {
    const Tensor *input;
    std::shared_ptr<Array> array;
    /// Tokens in a flat file: bytes of one, and how far this input is shifted.
    int64_t tokenBytes = 0;
    int64_t shift = 0;
    /// Elements between samples, and between elements of one.
    int64_t sampleStride = 0;
    std::vector<int64_t> strides;
    // This rank's block: micro-batches, rows of one, of tokens the positions.
    Interval microBatches = {}, rows = {}, positions = {};
    std::unique_ptr<BlockWalk> row;
    std::unique_ptr<Staging> staging;
  };

  void openArrays(const std::string &folder);
  void openTokens(const std::string &folder, const Options &options);
  void checkArray(const Source &source, const std::string &path);
  void keepOwn(const Stage &stage);
  static void copyTokens(const Source &source, int64_t sample, char *to);
  [[noreturn]] void reportLabel(const Source &source) const;

  const Program &program;
  std::vector<Source> sources;
  int64_t count = -1;
  int64_t stepSamples = 0;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_DATASET_H
