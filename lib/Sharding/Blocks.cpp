//===- Blocks.cpp - Cutting and joining the bytes of tensors --------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Sharding/Blocks.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Sizes.h"

#include <algorithm>
#include <cstring>

namespace parplan {

int64_t TensorLayout::getElementCount() const { return multiplySizes(shape); }

namespace {

/// Bytes between neighbours along each dimension.
llvm::SmallVector<int64_t> getByteStrides(llvm::ArrayRef<int64_t> shape,
                                          int64_t elementBytes) {
  llvm::SmallVector<int64_t> strides(shape.size());
  int64_t stride = elementBytes;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

void checkByteCount(llvm::ArrayRef<uint8_t> bytes, int64_t expected) {
  PARPLAN_CHECK(static_cast<int64_t>(bytes.size()) == expected, bytes.size(),
                " bytes where ", expected, " are expected");
}

bool isZeroElement(const uint8_t *element, int64_t elementBytes) {
  // Little-endian: the sign is the highest bit of the last byte.
  for (int64_t i = 0; i + 1 < elementBytes; ++i)
    if (element[i] != 0)
      return false;
  return (element[elementBytes - 1] & 0x7f) == 0;
}

/// Visits the first byte of every row of a box: `visit(offset)`.
template <typename Visit>
void forEachRow(llvm::ArrayRef<int64_t> extent, Visit visit) {
  llvm::SmallVector<int64_t> index(extent.size(), 0);
  size_t outer = extent.empty() ? 0 : extent.size() - 1;
  while (true) {
    visit(index);
    size_t dim = outer;
    while (dim > 0 && ++index[dim - 1] == extent[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

} // namespace

void copyBox(llvm::ArrayRef<int64_t> extent, int64_t elementBytes,
             const uint8_t *source, llvm::ArrayRef<int64_t> sourceShape,
             llvm::ArrayRef<int64_t> sourceStart, uint8_t *target,
             llvm::ArrayRef<int64_t> targetShape,
             llvm::ArrayRef<int64_t> targetStart) {
  if (llvm::is_contained(extent, 0))
    return;
  auto sourceStrides = getByteStrides(sourceShape, elementBytes);
  auto targetStrides = getByteStrides(targetShape, elementBytes);
  int64_t rowBytes = elementBytes * (extent.empty() ? 1 : extent.back());
  forEachRow(extent, [&](llvm::ArrayRef<int64_t> index) {
    int64_t sourceOffset = 0, targetOffset = 0;
    for (size_t dim = 0; dim < extent.size(); ++dim) {
      sourceOffset += (sourceStart[dim] + index[dim]) * sourceStrides[dim];
      targetOffset += (targetStart[dim] + index[dim]) * targetStrides[dim];
    }
    std::memcpy(target + targetOffset, source + sourceOffset, rowBytes);
  });
}

Interval getNestedInterval(int64_t size, llvm::ArrayRef<int64_t> widths,
                           int64_t index) {
  int64_t pieces = multiplySizes(widths);
  Interval held{0, size};
  int64_t block = size;
  for (int64_t width : widths) { // S3
    pieces /= width;
    block = ceilDivide(block, width);
    held.start = std::min(held.start + block * (index / pieces), held.stop);
    held.stop = std::min(held.stop, held.start + block);
    index %= pieces;
  }
  return held;
}

llvm::SmallVector<Interval> getHeldBox(const Mesh &mesh,
                                       llvm::ArrayRef<int64_t> shape,
                                       const Sharding &sharding, int64_t rank) {
  llvm::SmallVector<Interval> box;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    box.push_back(mesh.getInterval(shape[dim], sharding.dims[dim], rank));
  return box;
}

//===----------------------------------------------------------------------===//
// Pieces of one block
//===----------------------------------------------------------------------===//

Bytes sliceBlock(llvm::ArrayRef<uint8_t> block, const TensorLayout &layout,
                 int dim, llvm::ArrayRef<int64_t> widths, int64_t index) {
  checkByteCount(block, layout.getByteCount());
  TensorLayout piece = layout;
  piece.shape[dim] = ceilDivide(layout.shape[dim], multiplySizes(widths));
  Interval held = getNestedInterval(layout.shape[dim], widths, index);
  llvm::SmallVector<int64_t> start(layout.shape.size(), 0);
  llvm::SmallVector<int64_t> origin(layout.shape.size(), 0);
  llvm::SmallVector<int64_t> extent = layout.shape;
  start[dim] = held.start;
  extent[dim] = held.size();
  Bytes bytes(piece.getByteCount(), 0);
  copyBox(extent, layout.elementBytes, block.data(), layout.shape, start,
          bytes.data(), piece.shape, origin);
  return bytes;
}

Bytes joinBlocks(llvm::ArrayRef<Bytes> pieces, const TensorLayout &layout,
                 int dim, llvm::ArrayRef<int64_t> widths) {
  int64_t count = multiplySizes(widths);
  PARPLAN_CHECK(static_cast<int64_t>(pieces.size()) == count, pieces.size(),
                " pieces where ", count, " are expected");
  TensorLayout piece = layout;
  piece.shape[dim] = ceilDivide(layout.shape[dim], count);
  Bytes block(layout.getByteCount(), 0);
  llvm::SmallVector<int64_t> start(layout.shape.size(), 0);
  llvm::SmallVector<int64_t> origin(layout.shape.size(), 0);
  llvm::SmallVector<int64_t> extent = layout.shape;
  for (int64_t i = 0; i < count; ++i) {
    checkByteCount(pieces[i], piece.getByteCount());
    Interval held = getNestedInterval(layout.shape[dim], widths, i);
    start[dim] = held.start;
    extent[dim] = held.size();
    copyBox(extent, layout.elementBytes, pieces[i].data(), piece.shape, origin,
            block.data(), layout.shape, start);
  }
  return block;
}

//===----------------------------------------------------------------------===//
// Whole tensors
//===----------------------------------------------------------------------===//

Bytes shardTensor(const Mesh &mesh, const TensorLayout &tensor,
                  const Sharding &sharding, int64_t rank,
                  llvm::ArrayRef<uint8_t> global) {
  checkByteCount(global, tensor.getByteCount());
  TensorLayout local{sharding.getLocalShape(mesh, tensor.shape),
                     tensor.elementBytes};
  llvm::SmallVector<int64_t> start, extent, origin(tensor.shape.size(), 0);
  for (Interval held : getHeldBox(mesh, tensor.shape, sharding, rank)) {
    start.push_back(held.start);
    extent.push_back(held.size());
  }
  Bytes block(local.getByteCount(), 0);
  copyBox(extent, tensor.elementBytes, global.data(), tensor.shape, start,
          block.data(), local.shape, origin);
  if (!sharding.isStored())
    return block;
  // S6: the flattened block in pieces, padded at its end only.
  TensorLayout flat{{local.getElementCount()}, tensor.elementBytes};
  int64_t width = mesh.getWidth(sharding.storage);
  return sliceBlock(block, flat, /*dim=*/0, width,
                    mesh.getIndex(rank, sharding.storage));
}

namespace {

/// Puts blocks into the global tensor and remembers what has been written.
class Unsharder {
public:
  Unsharder(const Mesh &mesh, const TensorLayout &tensor,
            const Sharding &sharding, UnshardChecks checks, Bytes &global)
      : mesh(mesh), tensor(tensor), sharding(sharding), checks(checks),
        global(global), local{sharding.getLocalShape(mesh, tensor.shape),
                              tensor.elementBytes} {
    global.assign(tensor.getByteCount(), 0);
    written.assign(tensor.getElementCount(), false);
  }

  std::optional<std::string> addRank(int64_t rank,
                                     llvm::ArrayRef<Bytes> blocks) {
    Bytes joined;
    if (sharding.isStored())
      if (auto fault = joinStorage(rank, blocks, joined))
        return fault;
    const Bytes &block = sharding.isStored() ? joined : blocks[rank];
    checkByteCount(block, local.getByteCount());
    return place(rank, block);
  }

private:
  std::optional<std::string>
  joinStorage(int64_t rank, llvm::ArrayRef<Bytes> blocks, Bytes &joined) {
    std::vector<Bytes> pieces;
    int64_t count = local.getElementCount();
    int64_t width = mesh.getWidth(sharding.storage);
    int64_t pieceCount = ceilDivide(count, width);
    for (int64_t member : mesh.getGroup(rank, sharding.storage)) {
      const Bytes &piece = pieces.emplace_back(blocks[member]);
      checkByteCount(piece, pieceCount * tensor.elementBytes);
      int64_t index = static_cast<int64_t>(pieces.size()) - 1;
      int64_t held = getNestedInterval(count, width, index).size();
      for (int64_t i = held; i < pieceCount; ++i)
        if (isDirty(piece, i))
          return concat("S4: element ", i, " of the stored piece of rank ",
                        member, " is padding and not zero");
    }
    joined =
        joinBlocks(pieces, {{count}, tensor.elementBytes}, /*dim=*/0, width);
    return std::nullopt;
  }

  bool isDirty(const Bytes &block, int64_t element) const {
    return checks.padding &&
           !isZeroElement(block.data() + element * tensor.elementBytes,
                          tensor.elementBytes);
  }

  std::optional<std::string> place(int64_t rank, const Bytes &block) {
    auto box = getHeldBox(mesh, tensor.shape, sharding, rank);
    llvm::SmallVector<int64_t> index(tensor.shape.size(), 0);
    int64_t count = local.getElementCount();
    for (int64_t element = 0; element < count; ++element) {
      int64_t position = 0;
      bool isHeld = true;
      for (size_t dim = 0; dim < index.size(); ++dim) {
        isHeld &= index[dim] < box[dim].size();
        position = position * tensor.shape[dim] + box[dim].start + index[dim];
      }
      if (!isHeld && isDirty(block, element))
        return concat("S4: element ", element, " of the block of rank ", rank,
                      " is padding and not zero");
      if (isHeld && !write(block, element, position))
        return concat("S5: element ", element, " of the block of rank ", rank,
                      " differs from a replica; its global index is ",
                      position);
      for (size_t dim = index.size(); dim-- > 0;) {
        if (++index[dim] < local.shape[dim])
          break;
        index[dim] = 0;
      }
    }
    return std::nullopt;
  }

  /// False when another rank has written something else.
  bool write(const Bytes &block, int64_t element, int64_t position) {
    const uint8_t *source = block.data() + element * tensor.elementBytes;
    uint8_t *target = global.data() + position * tensor.elementBytes;
    if (written[position])
      return !checks.replicas ||
             std::memcmp(source, target, tensor.elementBytes) == 0;
    written[position] = true;
    std::memcpy(target, source, tensor.elementBytes);
    return true;
  }

  const Mesh &mesh;
  const TensorLayout &tensor;
  const Sharding &sharding;
  UnshardChecks checks;
  Bytes &global;
  TensorLayout local;
  std::vector<bool> written;
};

} // namespace

std::optional<std::string> unshardTensor(const Mesh &mesh,
                                         const TensorLayout &tensor,
                                         const Sharding &sharding,
                                         llvm::ArrayRef<Bytes> blocks,
                                         Bytes &global, UnshardChecks checks) {
  PARPLAN_CHECK(!sharding.isPartial(), "a pending value has no elements yet");
  PARPLAN_CHECK(static_cast<int64_t>(blocks.size()) == mesh.getRankCount(),
                blocks.size(), " blocks for ", mesh.getRankCount(), " ranks");
  Unsharder unsharder(mesh, tensor, sharding, checks, global);
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
    if (auto fault = unsharder.addRank(rank, blocks))
      return fault;
  return std::nullopt;
}

} // namespace parplan
