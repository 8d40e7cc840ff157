//===- blocks.cpp - Moving blocks between files and arenas ----------------===//

#include "blocks.h"
#include "failure.h"

#include <cstring>

namespace parplan {
namespace runtime {

namespace {

/// One loop of a copy between strided and dense memory.
struct Loop {
  int64_t strided; // bytes between neighbours there
  int64_t dense;   // bytes between neighbours in the block
  int64_t valid;
};

template <typename Element>
void copyRow(const char *from, int64_t fromStride, char *to, int64_t toStride,
             int64_t count) {
  if (fromStride == sizeof(Element) && toStride == sizeof(Element)) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Element));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * toStride, from + i * fromStride, sizeof(Element));
}

void copyRow(int64_t width, const char *from, int64_t fromStride, char *to,
             int64_t toStride, int64_t count) {
  if (width == 8)
    copyRow<int64_t>(from, fromStride, to, toStride, count);
  else if (width == 4)
    copyRow<int32_t>(from, fromStride, to, toStride, count);
  else if (width == 2)
    copyRow<int16_t>(from, fromStride, to, toStride, count);
  else
    copyRow<int8_t>(from, fromStride, to, toStride, count);
}

/// Walks the loops; `gather` copies into the block, else out of it.
void walk(const std::vector<Loop> &loops, size_t depth, int64_t width,
          bool gather, char *strided, char *dense) {
  if (depth == loops.size()) {
    std::memcpy(gather ? dense : strided, gather ? strided : dense,
                static_cast<size_t>(width));
    return;
  }
  const Loop &loop = loops[depth];
  if (depth + 1 == loops.size()) {
    if (gather)
      copyRow(width, strided, loop.strided, dense, loop.dense, loop.valid);
    else
      copyRow(width, dense, loop.dense, strided, loop.strided, loop.valid);
    return;
  }
  for (int64_t i = 0; i < loop.valid; ++i)
    walk(loops, depth + 1, width, gather, strided + i * loop.strided,
         dense + i * loop.dense);
}

/// The block of `rank` of a strided array: the loops over what exists of it
/// and the element at which it starts there.
struct BlockWalk {
  std::vector<Loop> loops;
  int64_t start = 0;
  int64_t elements = 1;

  BlockWalk(const Program &program, const std::vector<int64_t> &coordinates,
            Table<Dimension> dimensions, const std::vector<int64_t> &strides,
            int64_t width)
      : loops(dimensions.size) {
    for (int64_t d = dimensions.size - 1; d >= 0; --d) {
      const Interval interval =
          blockOf(program, coordinates, dimensions[d].size, dimensions[d].axes);
      loops[d] = {strides[d] * width, elements * width, interval.valid};
      start += interval.start * strides[d];
      elements *= interval.size;
      empty |= interval.valid == 0;
    }
  }
  void copy(bool gather, int64_t width, char *strided, char *dense) const {
    if (!empty)
      walk(loops, 0, width, gather, strided + start * width, dense);
  }

private:
  bool empty = false;
};

std::vector<int64_t> rowMajorStrides(Table<Dimension> dimensions) {
  std::vector<int64_t> strides(dimensions.size);
  int64_t stride = 1;
  for (int64_t d = dimensions.size - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= dimensions[d].size;
  }
  return strides;
}

/// Where the host can fill `bytes` at `offset`: the arena, or a buffer that is
/// uploaded afterwards.
class Staging {
public:
  Staging(EngineRank &rank, int64_t offset, int64_t bytes)
      : rank(rank), offset(offset), bytes(bytes) {
    if (char *arena = rank.hostArena()) {
      target = arena + offset;
      std::memset(target, 0, static_cast<size_t>(bytes));
    } else {
      buffer.resize(static_cast<size_t>(bytes));
      target = buffer.data();
    }
  }
  char *data() { return target; }
  void finish() {
    if (!rank.hostArena())
      rank.upload(offset, target, bytes);
  }

private:
  EngineRank &rank;
  int64_t offset, bytes;
  std::vector<char> buffer;
  char *target;
};

/// Whether all elements that the view reads lie in the initializer.
bool viewFits(const Parameter &parameter, int64_t elements) {
  int64_t low = parameter.offset, high = parameter.offset;
  for (const Dimension &dimension : parameter.dimensions) {
    if (dimension.size == 0)
      return true;
    const int64_t reach = (dimension.size - 1) * dimension.stride;
    (reach < 0 ? low : high) += reach;
  }
  return low >= 0 && high < elements;
}

} // namespace

int64_t blockElements(const Program &program, Table<Dimension> dimensions) {
  const std::vector<int64_t> origin(program.mesh.size);
  int64_t elements = 1;
  for (const Dimension &dimension : dimensions)
    elements *= blockOf(program, origin, dimension.size, dimension.axes).size;
  return elements;
}

int64_t pieceElements(const Program &program, int64_t elements,
                      Table<int32_t> axes) {
  const std::vector<int64_t> origin(program.mesh.size);
  return blockOf(program, origin, elements, axes).size;
}

void loadParameters(EngineRank &rank, const std::string &weightsFile) {
  const Program &program = rank.program();
  const std::vector<int64_t> coordinates =
      meshCoordinates(program, rank.rank());
  MappedFile file;
  bool opened = false;
  for (const Parameter &parameter : program.parameters) {
    const char *base = static_cast<const char *>(parameter.inlineData);
    const int64_t width = elementBytes(parameter.type);
    if (!base) {
      std::string reason;
      if (!opened && !file.open(weightsFile, reason))
        fail(exitBadData,
             "cannot open the weights " + quoted(weightsFile) + ": " + reason);
      opened = true;
      if (parameter.fileOffset < 0 || parameter.initializerBytes < 0 ||
          parameter.fileOffset > file.size() ||
          parameter.initializerBytes > file.size() - parameter.fileOffset)
        fail(exitBadData, quoted(weightsFile) + " is too short: parameter " +
                              quoted(parameter.name) + " ends at byte " +
                              std::to_string(parameter.fileOffset +
                                             parameter.initializerBytes) +
                              " of " + std::to_string(file.size()));
      base = file.data() + parameter.fileOffset;
    }
    if (!viewFits(parameter, parameter.initializerBytes / width))
      fail(exitInternal, "parameter " + quoted(parameter.name) +
                             " reads beyond its initializer");
    std::vector<int64_t> strides;
    for (const Dimension &dimension : parameter.dimensions)
      strides.push_back(dimension.stride);
    const BlockWalk block(program, coordinates, parameter.dimensions, strides,
                          width);
    char *source = const_cast<char *>(base) + parameter.offset * width;
    if (parameter.storageAxes.size == 0) {
      const int64_t bytes = block.elements * width;
      rank.mark(parameter.arenaOffset, bytes);
      Staging staging(rank, parameter.arenaOffset, bytes);
      block.copy(/*gather=*/true, width, source, staging.data());
      staging.finish();
      continue;
    }
    // S6: the flattened block is cut in pieces.
    std::vector<char> whole(static_cast<size_t>(block.elements * width));
    block.copy(/*gather=*/true, width, source, whole.data());
    const Interval piece =
        blockOf(program, coordinates, block.elements, parameter.storageAxes);
    rank.mark(parameter.arenaOffset, piece.size * width);
    Staging staging(rank, parameter.arenaOffset, piece.size * width);
    std::memcpy(staging.data(), whole.data() + piece.start * width,
                static_cast<size_t>(piece.valid * width));
    staging.finish();
  }
}

void loadInput(EngineRank &rank, const Tensor &input, const Array &array) {
  const Program &program = rank.program();
  const int64_t width = elementBytes(input.type);
  std::vector<int64_t> strides = rowMajorStrides(input.dimensions);
  if (array.columnMajor) {
    int64_t stride = 1;
    for (int64_t d = 0; d < input.dimensions.size; ++d) {
      strides[d] = stride;
      stride *= input.dimensions[d].size;
    }
  }
  const BlockWalk block(program, meshCoordinates(program, rank.rank()),
                        input.dimensions, strides, width);
  rank.mark(input.arenaOffset, block.elements * width);
  Staging staging(rank, input.arenaOffset, block.elements * width);
  block.copy(/*gather=*/true, width, const_cast<char *>(array.data),
             staging.data());
  staging.finish();
}

std::vector<char> collectOutput(EngineRank &rank, World &world,
                                const Tensor &output) {
  const Program &program = rank.program();
  const int64_t width = elementBytes(output.type);
  const std::vector<int64_t> strides = rowMajorStrides(output.dimensions);
  const int64_t bytes = blockElements(program, output.dimensions) * width;
  rank.mark(output.arenaOffset, bytes);
  std::vector<bool> splits(program.mesh.size);
  int64_t elements = 1;
  for (const Dimension &dimension : output.dimensions) {
    elements *= dimension.size;
    for (int32_t axis : dimension.axes)
      splits[axis] = true;
  }
  std::vector<char> global, own(static_cast<size_t>(bytes)),
      received(static_cast<size_t>(bytes));
  rank.download(output.arenaOffset, own.data(), bytes);
  if (world.rank() == 0)
    global.resize(static_cast<size_t>(elements * width));
  for (int from = 0; from < world.size(); ++from) {
    const std::vector<int64_t> coordinates = meshCoordinates(program, from);
    bool replica = false;
    for (int64_t axis = 0; axis < program.mesh.size; ++axis)
      replica |= !splits[axis] && coordinates[axis] != 0;
    if (replica || (world.rank() != 0 && world.rank() != from))
      continue;
    world.sendToRoot(from, own.data(), received.data(), bytes);
    if (world.rank() != 0)
      continue;
    const BlockWalk block(program, coordinates, output.dimensions, strides,
                          width);
    block.copy(/*gather=*/false, width, global.data(), received.data());
  }
  return global;
}

} // namespace runtime
} // namespace parplan
