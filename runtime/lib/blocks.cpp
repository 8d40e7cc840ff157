//===- blocks.cpp - Moving blocks between files and arenas ----------------===//

#include "blocks.h"
#include "block_walk.h"
#include "failure.h"

#include <algorithm>
#include <cstring>

namespace parplan {
namespace runtime {

namespace {
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

/// S6: equal pieces over all axes together, and what is missing at the end.
static Interval pieceOf(const Program &program,
                        const std::vector<int64_t> &coordinates,
                        int64_t elements, Table<int32_t> axes) {
  int64_t pieces = 1, place = 0;
  for (int32_t axis : axes) {
    pieces *= program.mesh[axis].size;
    place = place * program.mesh[axis].size + coordinates[axis];
  }
  const int64_t size = (elements + pieces - 1) / pieces;
  const int64_t start = std::min(place * size, elements);
  return {start, std::min(size, elements - start), size};
}

int64_t pieceElements(const Program &program, int64_t elements,
                      Table<int32_t> axes) {
  const std::vector<int64_t> origin(program.mesh.size);
  return pieceOf(program, origin, elements, axes).size;
}

KeptPart keptPart(const Program &program, const Parameter &parameter,
                  const std::vector<int64_t> &coordinates,
                  int64_t blockElements) {
  const bool bucket = parameter.bucketElements != 0;
  const int64_t base = bucket ? parameter.bucketOffset : 0;
  const Interval piece = pieceOf(
      program, coordinates, bucket ? parameter.bucketElements : blockElements,
      parameter.storageAxes);
  const int64_t from = std::max(piece.start, base);
  const int64_t to = std::min(piece.start + piece.valid, base + blockElements);
  if (to <= from)
    return {0, 0, parameter.arenaOffset, piece.size};
  return {from - base, to - from,
          parameter.arenaOffset +
              (from - piece.start) * elementBytes(parameter.type),
          piece.size};
}

void loadBlock(EngineRank &rank, const Parameter &parameter,
               const char *initializer, int64_t elements) {
  const Program &program = rank.program();
  const int64_t width = elementBytes(parameter.type);
  if (initializer && !viewFits(parameter, elements))
    fail(exitInternal, "parameter " + quoted(parameter.name) +
                           " reads beyond its initializer");
  const std::vector<int64_t> coordinates =
      meshCoordinates(program, rank.rank());
  const BlockWalk block(program, coordinates, parameter.dimensions,
                        stridesOf(parameter), width);
  char *source =
      initializer ? const_cast<char *>(initializer) + parameter.offset * width
                  : nullptr;
  const KeptPart part =
      keptPart(program, parameter, coordinates, block.elements());
  rank.mark(
      {parameter.arenaOffset, part.pieceElements * width, parameter.tier});
  const Range range = {part.arenaOffset, part.count * width, parameter.tier};
  if (part.count == block.elements()) {
    Staging staging(rank, range);
    if (source)
      block.copy(/*gather=*/true, source, staging.data());
    staging.finish();
    return;
  }
  // S6: the flattened block is cut in pieces.
  Staging staging(rank, range);
  if (source && part.count > 0) {
    std::vector<char> whole(static_cast<size_t>(block.elements() * width));
    block.copy(/*gather=*/true, source, whole.data());
    std::memcpy(staging.data(), whole.data() + part.first * width,
                static_cast<size_t>(part.count * width));
  }
  staging.finish();
}

void loadParameters(EngineRank &rank, const std::string &weightsFile) {
  MappedFile file;
  bool opened = false;
  for (const Parameter &parameter : rank.stage().parameters) {
    const char *base = static_cast<const char *>(parameter.inlineData);
    if (!base && !parameter.state) {
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
    loadBlock(rank, parameter, base,
              parameter.initializerBytes / elementBytes(parameter.type));
    file.forget();
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
    // In the file samples of a micro-batch are next to each other.
    if (input.batched) {
      strides[0] = input.dimensions[1].size;
      strides[1] = 1;
    }
  }
  const BlockWalk block(program, meshCoordinates(program, rank.rank()),
                        input.dimensions, strides, width);
  const Range range = {input.arenaOffset, block.elements() * width, input.tier};
  rank.mark(range);
  Staging staging(rank, range);
  block.copy(/*gather=*/true, const_cast<char *>(array.data), staging.data());
  staging.finish();
}

/// Puts the parts of micro-batches behind each other along the dimension of the
/// batch: before, they are one array behind the other.
static std::vector<char> joinParts(const Tensor &output,
                                   std::vector<char> parts) {
  if (!output.batched || output.batchDimension == 0 || parts.empty())
    return parts;
  const size_t count = static_cast<size_t>(output.dimensions[0].size);
  size_t outer = 1;
  for (int64_t d = 0; d < output.batchDimension; ++d)
    outer *= static_cast<size_t>(output.dimensions[1 + d].size);
  const size_t bytes = parts.size() / (count * outer);
  std::vector<char> joined(parts.size());
  for (size_t part = 0; part < count; ++part)
    for (size_t row = 0; row < outer; ++row)
      std::memcpy(joined.data() + (row * count + part) * bytes,
                  parts.data() + (part * outer + row) * bytes, bytes);
  return joined;
}

const char *readArena(EngineRank &rank, Range range,
                      std::vector<char> &buffer) {
  if (const char *arena = rank.mapped(range.tier))
    return arena + range.offset;
  buffer.resize(static_cast<size_t>(range.bytes));
  rank.download(range.offset, buffer.data(), range.bytes, range.tier);
  return buffer.data();
}

std::vector<char> collectOutput(EngineRank &rank, World &world,
                                const PlacedOutput &placed) {
  const Program &program = rank.program();
  const Tensor &output = *placed.tensor;
  const int64_t width = elementBytes(output.type);
  const std::vector<int64_t> strides = rowMajorStrides(output.dimensions);
  const int64_t bytes = blockElements(program, output.dimensions) * width;
  const std::vector<bool> splits = splitAxes(program, output.dimensions);
  int64_t elements = 1;
  for (const Dimension &dimension : output.dimensions)
    elements *= dimension.size;
  std::vector<char> global, buffer, received;
  const char *own = nullptr;
  if (stageIndexOf(program, world.rank()) == placed.stage) {
    const Range range = {output.arenaOffset, bytes, output.tier};
    rank.mark(range);
    own = readArena(rank, range, buffer);
  }
  if (world.rank() == 0)
    global.resize(static_cast<size_t>(elements * width));
  for (int from = 0; from < world.size(); ++from) {
    if (!hasFirstCopy(program, placed.stage, splits, from) ||
        (world.rank() != 0 && world.rank() != from))
      continue;
    char *part = const_cast<char *>(own);
    if (from != 0) {
      if (world.rank() == 0) {
        received.resize(static_cast<size_t>(bytes));
        part = received.data();
      }
      world.sendToRoot(from, own, part, bytes);
    }
    if (world.rank() != 0)
      continue;
    const BlockWalk block(program, meshCoordinates(program, from),
                          output.dimensions, strides, width);
    block.copy(/*gather=*/false, global.data(), part);
  }
  return joinParts(output, std::move(global));
}

} // namespace runtime
} // namespace parplan
