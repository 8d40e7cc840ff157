//===- tables.h - The static description of an emitted program ------------===//
//
// An emitted program is one constexpr `Program` with a `Stage` for each
// position of its pipeline: a `step`, and tables with everything that the
// runtime has to know before and after it: where parameters, inputs and outputs
// lie in the arenas and which block of them a rank keeps.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_TABLES_H
#define PARPLAN_RUNTIME_TABLES_H

#include "parplan_runtime/shapes.h"

#include <cstddef>
#include <cstdint>

namespace parplan {
namespace runtime {

class Rank;

/// Storage types. The numbers are part of no file format.
enum class ElementType : int32_t {
  Float64,
  Float32,
  Float16,
  BFloat16,
  Int64,
  Int32,
  Int16,
  Int8,
  UInt64,
  UInt32,
  UInt16,
  UInt8,
  Bool
};

constexpr int64_t elementBytes(ElementType type) {
  switch (type) {
  case ElementType::Float64:
  case ElementType::Int64:
  case ElementType::UInt64:
    return 8;
  case ElementType::Float32:
  case ElementType::Int32:
  case ElementType::UInt32:
    return 4;
  case ElementType::Float16:
  case ElementType::BFloat16:
  case ElementType::Int16:
  case ElementType::UInt16:
    return 2;
  case ElementType::Int8:
  case ElementType::UInt8:
  case ElementType::Bool:
    return 1;
  }
  return 0;
}

/// Where a buffer lies. Each tier has an arena of its own: memory of the
/// device, memory of the host, a file.
enum class MemoryTier : int32_t { Device, Host, Nvme };

/// Offsets in the file are multiples of it, and host memory that a file is read
/// into or written from too: then nothing is copied on the way.
constexpr int64_t storageAlignment = 4096;

/// The streams of a step, by number. A stage has those below its streamCount.
namespace streams {
constexpr int32_t compute = 0;
constexpr int32_t communication = 1;
constexpr int32_t pointToPoint = 2;
/// From the device to the host, and back.
constexpr int32_t download = 3;
constexpr int32_t upload = 4;
/// Kernels on the host, on CUDA too.
constexpr int32_t host = 5;
/// Between the host and NVMe.
constexpr int32_t storage = 6;
} // namespace streams

/// A constexpr view of a static array; the default is empty.
template <typename Entry> struct Table {
  const Entry *data = nullptr;
  int64_t size = 0;

  constexpr Table() = default;
  constexpr Table(const Entry *entries, int64_t count)
      : data(entries), size(count) {}
  template <size_t count>
  constexpr Table(const Entry (&entries)[count])
      : data(entries), size(static_cast<int64_t>(count)) {}

  constexpr const Entry &operator[](int64_t index) const { return data[index]; }
  constexpr const Entry *begin() const { return data; }
  constexpr const Entry *end() const { return data + size; }
};

/// A mesh axis. Ranks are numbered row-major over the axes: the last axis
/// varies fastest. Servers have an axis of their own, see Program.
struct Axis {
  const char *name;
  int64_t size;
};

/// A group of ranks that differ only in their coordinates on `axes`. Inside
/// the group ranks are numbered row-major over `axes` in the order given.
/// `name` is what the order of communication prints. Entries may differ in
/// nothing but their stream. Over the axes of the workers it has no server, and
/// over that of the servers no worker.
struct CommunicatorEntry {
  const char *name;
  Table<int32_t> axes;
  /// The only stream that uses it; -1: any. That of point-to-point messages is
  /// connected before the first step.
  int32_t stream = -1;
  /// All ranks, workers and servers, by their number; `axes` is empty.
  bool everyone = false;
};

/// One dimension of a tensor: its global size and the mesh axes (indices into
/// Program::mesh, major to minor) that split it by nested ceilings. `stride`
/// is only read for parameters: elements between neighbours in the file.
/// With `zigzag` n > 1 element i of the dimension is element
/// `zigzagPosition(i, size, n)` of the model's tensor.
struct Dimension {
  int64_t size;
  Table<int32_t> axes;
  int64_t stride = 0;
  int64_t zigzag = 1;
};

/// A parameter: at the start its block is copied from the weights into the
/// arena, padded with zeros to the uniform local size.
/// Element (i0, i1, ...) of the global view lies at element
/// `offset + sum(i_d * stride_d)` of the initializer, which is
/// `initializerBytes` bytes at `fileOffset` of DIR/weights.bin, or at
/// `inlineData` when that is given (constants of the program's own).
/// With `storageAxes` the flattened block is kept in pieces.
/// A training step changes the blocks of trained parameters and of states in
/// place; they are what a checkpoint holds.
struct Parameter {
  const char *name;
  ElementType type;
  int64_t fileOffset;
  int64_t initializerBytes;
  int64_t offset;
  Table<Dimension> dimensions;
  int64_t arenaOffset;
  const void *inlineData = nullptr;
  Table<int32_t> storageAxes = {};
  /// Zeros at the start of a run; `initializerBytes` is 0.
  bool state = false;
  /// The state's name in the optimizer (such as "exp_avg"); null otherwise.
  const char *slot = nullptr;
  /// A step changes the block, whether parameter or state.
  bool trained = false;
  /// In a bucket: the flattened block lies at element `bucketOffset` of a flat
  /// array of `bucketElements`, of which storageAxes keep pieces and which
  /// starts at arenaOffset. A rank's piece of it may hold a part of the block,
  /// or nothing. 0: the block is its own bucket.
  int64_t bucketOffset = 0;
  int64_t bucketElements = 0;
  /// Of the arena that arenaOffset counts in.
  MemoryTier tier = MemoryTier::Device;
};

/// Where the values of an input come from.
enum class TensorRole : int32_t {
  Data,
  Labels,
  LearningRate,
  StepSize,
  BiasCorrection2Sqrt,
  LossScale,
  InverseLossScale
};

/// Rows with this label count for nothing.
constexpr int64_t ignoredLabel = -100;

/// What the loop does with an output.
enum class OutputRole : int32_t {
  Output,
  Loss,
  GradientNorm,
  Overflow,
  /// Labels that the loss is the mean over; where workers have losses of their
  /// own it is the weight of theirs.
  LabelCount
};

/// An input or output: `dimensions` are global, the block of a rank lies at
/// `arenaOffset`, row-major, padded to the uniform local size.
struct Tensor {
  const char *name;
  ElementType type;
  Table<Dimension> dimensions;
  int64_t arenaOffset;
  /// Of an input.
  TensorRole role = TensorRole::Data;
  /// An input whose dimensions are [micro-batches, samples of one, ..]: row i
  /// of the step is sample i % size of micro-batch i / size. An output that has
  /// a part for each micro-batch, in a dimension in front of the model's.
  bool batched = false;
  /// Labels are below it, or ignoredLabel; 0: any value.
  int64_t classes = 0;
  /// Of an output.
  OutputRole outputRole = OutputRole::Output;
  /// Device or Host: of the arena that arenaOffset counts in. A number that
  /// both read is two inputs.
  MemoryTier tier = MemoryTier::Device;
  /// Of a batched output: the dimension of the model's along which the parts of
  /// micro-batches follow each other.
  int64_t batchDimension = 0;
};

enum class LearningRateKind : int32_t { Constant, Linear, Cosine };

/// Steps `warmup` of linear growth, then `kind` until step `total`, where
/// `final` times the base rate is reached.
struct LearningRateSchedule {
  LearningRateKind kind = LearningRateKind::Constant;
  int64_t warmup = 0;
  int64_t total = 0;
  double final = 0.0;
};

/// An initializer of the model as trained.onnx.template holds it: raw bytes in
/// the model's own type, row-major. The trained parameters of the same name
/// are blocks of it.
struct SavedTensor {
  const char *name;
  /// ONNX's TensorProto.DataType.
  int32_t onnxType;
  Table<int64_t> shape;
  int64_t fileOffset;
  int64_t bytes;
  /// The name of the trained parameters that hold it, one of several in a
  /// stack, and its place there; null: its own name, and alone.
  const char *stack = nullptr;
  int64_t stackIndex = 0;
};

/// What the loop around a training step needs.
struct Training {
  OptimizerShape optimizer;
  double learningRate;
  LearningRateSchedule schedule;
  int64_t microBatches = 1;
  /// Of the first step; 0: the loss is not scaled.
  double initialLossScale = 0.0;
  Table<SavedTensor> saved = {};
  /// SHA-256 (hex) of the model's file, which checkpoints name; empty: not
  /// compared.
  const char *modelSha256 = "";
  /// The template is a model, not only its bytes: --save takes .onnx too.
  bool savesModel = true;
};

/// What the ranks at one position of the pipeline run. Stages may have the same
/// parameters (tied ones) and inputs; each output and each view of a trained
/// parameter is taken from the first stage that has it.
struct Stage {
  Table<Parameter> parameters;
  Table<Tensor> inputs;
  Table<Tensor> outputs;
  /// Exactly the predicted peaks, in bytes.
  int64_t arenaBytes;
  int64_t hostArenaBytes;
  int64_t nvmeArenaBytes;
  /// Streams below it are opened; see `streams`.
  int32_t streamCount;
  int32_t eventCount;
  /// Enqueues one step. Called once per step; on a server without a common step
  /// once per push, which it receives from rank.worker() and applies.
  void (*step)(Rank &rank);
  /// Of such a server: enqueues sending the values to rank.worker().
  void (*reply)(Rank &rank) = nullptr;
};

/// Everything the runtime knows about an emitted program.
///
/// With `servers`, the first ranks are workers, numbered over all axes of the
/// mesh but the last one, and the last ranks are servers, numbered over the
/// last axis. Servers run the last stage; they keep pieces of the parameters
/// and their states. Workers have the other stages.
struct Program {
  /// The model's name, for messages.
  const char *name;
  Table<Axis> mesh;
  /// One list for all stages. Every rank is in each of them.
  Table<CommunicatorEntry> communicators;
  /// By position on `pipelineAxis`; one without a pipeline. Then the servers'.
  Table<Stage> stages;
  /// Expected SHA-256 (hex) of the order of communication of one step, one
  /// for all ranks or one for each; empty: not checked. Of servers without a
  /// common step it is "".
  Table<const char *> orderDigests;
  /// Null: the program infers.
  const Training *training = nullptr;
  /// An axis of the mesh that splits nothing; -1: all ranks run one stage.
  int32_t pipelineAxis = -1;
  /// The size of the last axis, or 0: there are none, and no axis of theirs.
  int64_t servers = 0;
  /// -1: workers and servers make each step together. Otherwise a push is
  /// applied by itself when it comes, and a worker starts a step when no other
  /// one is more than this many steps behind it.
  int64_t staleness = -1;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_TABLES_H
