//===- dataset.cpp - The samples of a training run ------------------------===//

#include "dataset.h"
#include "blocks.h"
#include "failure.h"
#include "stages.h"

#include <cstring>

namespace parplan {
namespace runtime {

namespace {

bool comesFromData(const Tensor &input) {
  return input.role == TensorRole::Data || input.role == TensorRole::Labels;
}

/// The dimensions of one sample: without micro-batches and rows.
Table<Dimension> sampleDimensions(const Tensor &input) {
  return {input.dimensions.data + 2, input.dimensions.size - 2};
}

std::vector<int64_t> sampleShape(const Tensor &input) {
  std::vector<int64_t> shape;
  for (const Dimension &dimension : sampleDimensions(input))
    shape.push_back(dimension.size);
  return shape;
}

std::string positionText(const std::vector<int64_t> &position) {
  if (position.empty())
    return "";
  std::string text = " at position [";
  for (size_t i = 0; i < position.size(); ++i)
    text += (i ? ", " : "") + std::to_string(position[i]);
  return text + "]";
}

} // namespace

Dataset::Dataset(const Program &program, const Options &options)
    : program(program) {
  for (const Tensor *each : inputsOf(program)) {
    const Tensor &input = *each;
    if (!comesFromData(input))
      continue;
    Source source;
    source.input = &input;
    if (input.batched) {
      if (input.dimensions.size < 2)
        fail(exitInternal, "input " + quoted(input.name) + " has no samples");
      const int64_t batch = input.dimensions[0].size * input.dimensions[1].size;
      if (stepSamples != 0 && stepSamples != batch)
        fail(exitInternal, "inputs have steps of several sizes");
      stepSamples = batch;
    }
    sources.push_back(std::move(source));
  }
  if (stepSamples == 0)
    fail(exitInternal, "no input has samples");
  if (options.tokenBytes != 0)
    openTokens(options.dataFolder, options);
  else
    openArrays(options.dataFolder);
}

// --- arrays
// ------------------------------------------------------------------------

void Dataset::openArrays(const std::string &folder) {
  std::vector<std::string> names;
  for (const Source &source : sources)
    names.push_back(source.input->name);
  const std::vector<std::string> files = arrayFileNames(names);
  std::string first;
  for (size_t i = 0; i < sources.size(); ++i) {
    Source &source = sources[i];
    const std::string path = folder + "/" + files[i];
    source.array = openArray(path, source.input->name);
    checkArray(source, path);
    if (!source.input->batched)
      continue;
    const Array &array = *source.array;
    if (count < 0) {
      count = array.shape[0];
      first = path;
    } else if (count != array.shape[0]) {
      fail(exitBadData, quoted(path) + " holds " +
                            std::to_string(array.shape[0]) + " samples, but " +
                            quoted(first) + " holds " + std::to_string(count));
    }
    const size_t rank = array.shape.size();
    std::vector<int64_t> strides(rank);
    int64_t stride = 1;
    for (size_t i = 0; i < rank; ++i) {
      const size_t d = array.columnMajor ? i : rank - 1 - i;
      strides[d] = stride;
      stride *= array.shape[d];
    }
    source.sampleStride = strides[0];
    source.strides.assign(strides.begin() + 1, strides.end());
  }
  if (count == 0)
    fail(exitBadData, quoted(first) + " holds no samples");
}

void Dataset::checkArray(const Source &source, const std::string &path) {
  const Tensor &input = *source.input;
  const Array &array = *source.array;
  std::vector<int64_t> expected, got = array.shape;
  std::string text;
  if (input.batched) {
    expected = sampleShape(input);
    text = describe(input.type, expected) + " in each sample";
    if (!got.empty())
      got.erase(got.begin());
  } else {
    for (const Dimension &dimension : input.dimensions)
      expected.push_back(dimension.size);
    text = describe(input.type, expected);
  }
  if (!array.holds(input.type) || got != expected ||
      (input.batched && array.shape.empty()))
    fail(exitBadData,
         "input " + quoted(input.name) + " is " + text + ", but " +
             quoted(path) + " holds " + describe(array.type, array.shape) +
             (input.batched ? ", whose first dimension are the samples" : ""));
}

// --- tokens
// ------------------------------------------------------------------------

void Dataset::openTokens(const std::string &folder, const Options &options) {
  bool fits = sources.size() == 2;
  for (const Source &source : sources)
    fits &= source.input->batched && source.input->dimensions.size == 3 &&
            (source.input->type == ElementType::Int64 ||
             source.input->type == ElementType::Int32);
  fits = fits && (sources[0].input->role == TensorRole::Labels) !=
                     (sources[1].input->role == TensorRole::Labels);
  if (!fits)
    fail(exitOptionValue, "--tokens is for programs with one input of token "
                          "ids, [samples, length], and as many labels; this "
                          "one takes INPUT.npy files");
  const int64_t length = sources[0].input->dimensions[2].size;
  if (sources[1].input->dimensions[2].size != length)
    fail(exitOptionValue, "--tokens: the labels are not as long as the input");
  if (options.sequenceLength != 0 && options.sequenceLength != length)
    fail(exitOptionValue,
         "--sequence-length " + std::to_string(options.sequenceLength) +
             ", but the program was built for " + std::to_string(length));
  const std::string path = folder + "/tokens.bin";
  auto array = std::make_shared<Array>();
  array->file = std::make_shared<MappedFile>();
  std::string reason;
  if (!array->file->open(path, reason))
    fail(exitMissingInput, "cannot open " + quoted(path) + ": " + reason);
  array->data = array->file->data();
  const int64_t bytes = array->file->size();
  count = bytes / options.tokenBytes / (length + 1);
  if (bytes % options.tokenBytes != 0)
    fail(exitBadData, quoted(path) + " ends within a token");
  if (count == 0)
    fail(exitBadData, quoted(path) + " is too short: it holds " +
                          std::to_string(bytes / options.tokenBytes) +
                          " tokens, a sample is " + std::to_string(length + 1));
  for (Source &source : sources) {
    source.array = array;
    source.tokenBytes = options.tokenBytes;
    source.shift = source.input->role == TensorRole::Labels ? 1 : 0;
    source.sampleStride = length + 1;
    source.strides = {1};
  }
}

namespace {
int64_t tokenAt(const char *data, int64_t bytes, int64_t index) {
  if (bytes == 2) {
    uint16_t token;
    std::memcpy(&token, data + index * 2, 2);
    return token;
  }
  uint32_t token;
  std::memcpy(&token, data + index * 4, 4);
  return token;
}
} // namespace

// --- labels
// ------------------------------------------------------------------------

namespace {

int64_t elementAt(const Array &array, int64_t tokenBytes, int64_t index) {
  if (tokenBytes != 0)
    return tokenAt(array.data, tokenBytes, index);
  if (array.type == ElementType::Int64) {
    int64_t value;
    std::memcpy(&value, array.data + index * 8, 8);
    return value;
  }
  int32_t value;
  std::memcpy(&value, array.data + index * 4, 4);
  return value;
}

bool isLabel(int64_t value, int64_t classes) {
  return value == ignoredLabel || (value >= 0 && value < classes);
}

} // namespace

void Dataset::checkLabels() const {
  for (const Source &source : sources) {
    const Tensor &input = *source.input;
    const bool integers =
        input.type == ElementType::Int64 || input.type == ElementType::Int32;
    if (input.role != TensorRole::Labels || input.classes == 0 || !integers)
      continue;
    // The order in the file does not matter here. Of tokens all are looked at:
    // ids of the input are classes too.
    int64_t elements = source.tokenBytes != 0 ? count * source.sampleStride : 1;
    if (source.tokenBytes == 0)
      for (int64_t size : source.array->shape)
        elements *= size;
    bool good = true;
    for (int64_t i = 0; i < elements; ++i)
      good &= isLabel(elementAt(*source.array, source.tokenBytes, i),
                      input.classes);
    if (!good)
      reportLabel(source);
  }
}

void Dataset::reportLabel(const Source &source) const {
  const Tensor &input = *source.input;
  const std::string range = std::to_string(ignoredLabel) +
                            " (ignored) or 0 to " +
                            std::to_string(input.classes - 1);
  if (source.tokenBytes != 0)
    for (int64_t i = 0; i < count * source.sampleStride; ++i) {
      const int64_t token = tokenAt(source.array->data, source.tokenBytes, i);
      if (token >= input.classes)
        fail(exitBadData,
             "tokens.bin: token " + std::to_string(i % source.sampleStride) +
                 " of sample " + std::to_string(i / source.sampleStride) +
                 " is " + std::to_string(token) + ", but the model has " +
                 std::to_string(input.classes) + " classes");
    }
  const std::vector<int64_t> shape = sampleShape(input);
  std::vector<int64_t> position(shape.size());
  for (int64_t sample = 0; sample < count; ++sample)
    for (bool more = true; more;) {
      int64_t index = sample * source.sampleStride;
      for (size_t d = 0; d < shape.size(); ++d)
        index += position[d] * source.strides[d];
      const int64_t value = elementAt(*source.array, 0, index);
      if (!isLabel(value, input.classes))
        fail(exitBadData, quoted(input.name) + ": sample " +
                              std::to_string(sample) + " has label " +
                              std::to_string(value) + positionText(position) +
                              "; labels are " + range);
      more = false;
      for (size_t d = shape.size(); d-- > 0 && !more;) {
        more = ++position[d] < shape[d];
        if (!more)
          position[d] = 0;
      }
    }
  fail(exitInternal, "a label changed while it was read");
}

// --- steps
// -------------------------------------------------------------------------

void Dataset::keepOwn(const Stage &stage) {
  std::vector<Source> own;
  for (const Tensor &input : stage.inputs)
    for (Source &source : sources) {
      if (std::strcmp(source.input->name, input.name) != 0)
        continue;
      source.input = &input;
      own.push_back(std::move(source));
      break;
    }
  sources = std::move(own);
}

void Dataset::attach(EngineRank &rank) {
  keepOwn(rank.stage());
  const std::vector<int64_t> coordinates =
      meshCoordinates(program, rank.rank());
  for (Source &source : sources) {
    const Tensor &input = *source.input;
    if (!input.batched) {
      loadInput(rank, input, *source.array);
      continue;
    }
    const auto block = [&](int64_t d) {
      return blockOf(program, coordinates, input.dimensions[d].size,
                     input.dimensions[d].axes);
    };
    const int64_t width = elementBytes(input.type);
    source.microBatches = block(0);
    source.rows = block(1);
    if (source.tokenBytes != 0)
      source.positions = block(2);
    source.row.reset(new BlockWalk(
        program, coordinates, sampleDimensions(input), source.strides, width));
    const int64_t bytes = source.microBatches.size * source.rows.size *
                          source.row->elements() * width;
    const Range range = {input.arenaOffset, bytes, input.tier};
    rank.mark(range);
    source.staging.reset(new Staging(rank, range));
  }
}

void Dataset::load(int64_t first) {
  for (Source &source : sources) {
    const Tensor &input = *source.input;
    if (!input.batched)
      continue;
    const int64_t width = elementBytes(input.type);
    const int64_t rowBytes = source.row->elements() * width;
    // A step may have used the space of an input for something else.
    if (source.row->padded() || source.rows.valid < source.rows.size ||
        source.microBatches.valid < source.microBatches.size)
      source.staging->zero();
    for (int64_t m = 0; m < source.microBatches.valid; ++m)
      for (int64_t i = 0; i < source.rows.valid; ++i) {
        const int64_t row =
            (source.microBatches.start + m) * input.dimensions[1].size +
            source.rows.start + i;
        const int64_t sample = (first + row) % count;
        char *to =
            source.staging->data() + (m * source.rows.size + i) * rowBytes;
        if (source.tokenBytes != 0)
          copyTokens(source, sample, to);
        else
          source.row->copy(/*gather=*/true,
                           const_cast<char *>(source.array->data) +
                               sample * source.sampleStride * width,
                           to);
      }
    source.staging->finish();
  }
}

void Dataset::copyTokens(const Source &source, int64_t sample, char *to) {
  const int64_t from =
      sample * source.sampleStride + source.shift + source.positions.start;
  for (int64_t i = 0; i < source.positions.valid; ++i) {
    const int64_t token =
        tokenAt(source.array->data, source.tokenBytes, from + i);
    if (source.input->type == ElementType::Int64) {
      std::memcpy(to + i * 8, &token, 8);
    } else {
      const int32_t narrow = static_cast<int32_t>(token);
      std::memcpy(to + i * 4, &narrow, 4);
    }
  }
}

} // namespace runtime
} // namespace parplan
