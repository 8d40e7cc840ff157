//===- Structure.cpp - Programs, communicators and buffers ----------------===//
//
// Part of parplan. E7, E8 and E15 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/ExecOps.h"

#include "parplan/Sharding/ServerPositions.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

void ProgramOp::getAsmResultNames(OpAsmSetValueNameFn) {}

SmallVector<ProgramOp> exec::getPrograms(ModuleOp module) {
  SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
  llvm::stable_sort(programs, [](ProgramOp left, ProgramOp right) {
    return left.getPosition().value_or(0) < right.getPosition().value_or(0);
  });
  return programs;
}

std::optional<int> ProgramOp::getPipelineAxis() {
  const Mesh &mesh = getMesh().getMesh();
  std::optional<int> found;
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis) {
    if (mesh.getAxis(axis).role != AxisRole::pipeline)
      continue;
    if (found)
      return std::nullopt;
    found = axis;
  }
  return found;
}

int64_t ProgramOp::getPositionCount() {
  const Mesh &mesh = getMesh().getMesh();
  if (mesh.getServerCount() > 0)
    return 2;
  std::optional<int> axis = getPipelineAxis();
  return axis ? mesh.getAxis(*axis).size : 1;
}

int64_t ProgramOp::getPositionOf(int64_t rank) {
  const Mesh &mesh = getMesh().getMesh();
  if (mesh.getServerCount() > 0)
    return getServersPosition(mesh, rank);
  std::optional<int> axis = getPipelineAxis();
  return axis ? mesh.getCoordinate(rank, *axis) : 0;
}

int64_t ProgramOp::getArenaBytes(Tier tier) {
  switch (tier) {
  case Tier::device:
    return getArena();
  case Tier::host:
    return getHostArena().value_or(0);
  case Tier::nvme:
    return getNvmeArena().value_or(0);
  }
  return 0;
}

void ProgramOp::setArenaBytes(Tier tier, int64_t bytes) {
  IntegerAttr attribute =
      bytes ? Builder(getContext()).getI64IntegerAttr(bytes) : IntegerAttr();
  switch (tier) {
  case Tier::device:
    setArena(bytes);
    break;
  case Tier::host:
    setHostArenaAttr(attribute);
    break;
  case Tier::nvme:
    setNvmeArenaAttr(attribute);
    break;
  }
}

std::string CommunicatorOp::getLabel() {
  return llvm::join(
      llvm::map_range(getAxes().getNames(),
                      [](StringAttr name) { return name.getValue(); }),
      ",");
}

int64_t CommunicatorOp::getSize() {
  const Mesh &mesh =
      cast<ProgramOp>((*this)->getParentOp()).getMesh().getMesh();
  FailureOr<AxisList> axes = getAxes().resolve(mesh);
  return succeeded(axes) ? mesh.getWidth(*axes) : 0;
}

LogicalResult CommunicatorOp::verify() {
  const Mesh &mesh =
      cast<ProgramOp>((*this)->getParentOp()).getMesh().getMesh();
  llvm::SmallSet<StringRef, 4> seen;
  for (StringAttr name : getAxes().getNames()) {
    if (!mesh.findAxis(name.getValue()))
      return emitOpError("names ") << name << ", no axis of the mesh (E7)";
    if (!seen.insert(name.getValue()).second)
      return emitOpError("names ") << name << " twice (E7)";
  }
  if (getSize() <= 1)
    return emitOpError("is a group of one rank (E7)");
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers and views
//===----------------------------------------------------------------------===//

BufferOp exec::getBuffer(Value array) {
  if (auto view = array.getDefiningOp<ViewOp>())
    array = view.getBuffer();
  return array.getDefiningOp<BufferOp>();
}

/// Bytes from the start of its buffer.
static int64_t getViewOffset(Value array) {
  auto view = array.getDefiningOp<ViewOp>();
  return view ? static_cast<int64_t>(view.getOffset()) : 0;
}

int64_t exec::getArenaOffset(Value array) {
  return getBuffer(array).getOffset() + getViewOffset(array);
}

bool exec::isSameArray(Value left, Value right) {
  return getBuffer(left) && getBuffer(left) == getBuffer(right) &&
         getViewOffset(left) == getViewOffset(right) &&
         getBufferType(left).getByteSize() ==
             getBufferType(right).getByteSize();
}

ByteRange exec::getByteRange(Value array) {
  int64_t offset = getArenaOffset(array);
  return {offset, offset + getBufferType(array).getByteSize(), getTier(array)};
}

bool BufferOp::isPermanent() {
  return getKind() == BufferKind::parameter || getKind() == BufferKind::state ||
         getKind() == BufferKind::input;
}

LogicalResult ViewOp::verify() {
  if (!getBuffer().getDefiningOp<BufferOp>())
    return emitOpError("is of no exec.buffer (E15)");
  int64_t offset = getOffset();
  int64_t bytes = getBuffer().getType().getByteSize();
  if (offset < 0 || offset + getType().getByteSize() > bytes)
    return emitOpError("reaches bytes ")
           << offset << " to " << offset + getType().getByteSize() << " of "
           << bytes << " (E15)";
  if (offset % getStorageBytes(getType().getElementType()))
    return emitOpError("has the offset ")
           << offset << ", no multiple of an element (E15)";
  return success();
}

/// The elements of the block under the mesh; fails on an unknown axis.
static FailureOr<int64_t> countBlockElements(BlockAttr block,
                                             const Mesh &mesh) {
  int64_t elements = 1;
  for (DimensionAttr dimension : block.getDims()) {
    FailureOr<AxisList> axes = dimension.getAxes().resolve(mesh);
    if (failed(axes))
      return failure();
    int64_t size = dimension.getSize();
    for (int axis : *axes)
      size = ceilDivide(size, mesh.getAxis(axis).size);
    elements *= size;
  }
  FailureOr<AxisList> storage = block.getStorage().resolve(mesh);
  if (failed(storage))
    return failure();
  return ceilDivide(elements, mesh.getWidth(*storage));
}

SmallVector<BlockAttr> BufferOp::getBlocks() {
  if (std::optional<BucketAttr> bucket = getBucket())
    return llvm::to_vector(bucket->getMembers());
  if (std::optional<BlockAttr> block = getBlock())
    return {*block};
  return {};
}

/// Members lie inside of the bucket, and the buffer is a piece of it.
static LogicalResult verifyBucket(BufferOp op, const Mesh &mesh) {
  BucketAttr bucket = *op.getBucket();
  int64_t end = 0;
  for (auto [offset, member] :
       llvm::zip_equal(bucket.getOffsets(), bucket.getMembers())) {
    FailureOr<int64_t> elements = countBlockElements(member, mesh);
    if (failed(elements) || !member.getStorage().getNames().empty())
      return op.emitOpError("has a member that is stored or over an unknown "
                            "axis (E8)");
    if (offset < end)
      return op.emitOpError("has members that overlap at element ")
             << offset << " (E8)";
    end = offset + *elements;
  }
  FailureOr<AxisList> storage = bucket.getStorage().resolve(mesh);
  if (failed(storage) || end > bucket.getElements())
    return op.emitOpError("has a bucket over an unknown axis or of less than "
                          "its members (E8)");
  int64_t piece = ceilDivide(bucket.getElements(), mesh.getWidth(*storage));
  if (piece != op.getType().getElementCount())
    return op.emitOpError("holds ")
           << op.getType().getElementCount() << " elements, its piece " << piece
           << " (E8)";
  return success();
}

/// Whether a zig-zag order cuts the dimension in equal chunks.
static bool hasChunks(DimensionAttr dim) {
  return dim.getZigzag() > 1 && dim.getSize() % (2 * dim.getZigzag()) == 0;
}

LogicalResult BufferOp::verify() {
  int64_t alignment = getAlignment(getTier());
  if (static_cast<int64_t>(getOffset()) < 0 || getOffset() % alignment != 0)
    return emitOpError("has the offset ")
           << getOffset() << ", no multiple of " << alignment << " (E8)";
  bool isVariable =
      getKind() == BufferKind::parameter || getKind() == BufferKind::state;
  bool isInput = getKind() == BufferKind::input;
  bool isOutput = getKind() == BufferKind::output;
  bool isInterface = isVariable || isInput || isOutput;
  bool hasBucket = isVariable && getBucket().has_value();
  if (getBucket() && (!isVariable || getBlock()))
    return emitOpError("has a bucket (E8)");
  if ((isInterface && !hasBucket) != getBlock().has_value())
    return emitOpError(isInterface ? "needs a block (E8)" : "has a block (E8)");
  if (getTrained() && !isVariable)
    return emitOpError("is trained but no parameter or state (E8)");
  if (getRole() && !(*getRole() < BufferRole::loss ? isInput : isOutput))
    return emitOpError("has the role of another kind (E8)");
  int64_t rank =
      getBlock() ? static_cast<int64_t>(getBlock()->getDims().size()) : 0;
  auto batchDim = static_cast<int64_t>(getBatchDim());
  if (getBatched() && ((!isInput && !isOutput) || rank < 2))
    return emitOpError("is batched but no input or output of micro-batches and "
                       "samples (E8)");
  if (batchDim < 0 ||
      (batchDim > 0 && (!getBatched() || !isOutput || batchDim >= rank - 1)))
    return emitOpError("has its batch in dimension ")
           << batchDim << ", and is no batched output with one (E8)";
  for (BlockAttr block : getBlocks()) {
    if (isVariable != bool(block.getSource()))
      return emitOpError("a parameter or state, and nothing else, has a source "
                         "(E8)");
    if ((getKind() == BufferKind::state) != bool(block.getSlot()))
      return emitOpError("a state, and nothing else, has a slot (E8)");
    for (DimensionAttr dim : block.getDims())
      if (dim.getZigzag() != 1 && (isVariable || !hasChunks(dim)))
        return emitOpError("only inputs and outputs have dimensions in zig-zag "
                           "order, of two chunks for each of its ranks (E8)");
  }
  const Mesh &mesh =
      cast<ProgramOp>((*this)->getParentOp()).getMesh().getMesh();
  if (hasBucket)
    return verifyBucket(*this, mesh);
  if (!isInterface)
    return success();
  FailureOr<int64_t> elements = countBlockElements(*getBlock(), mesh);
  if (failed(elements))
    return emitOpError("has a block over an unknown axis (E8)");
  if (*elements != getType().getElementCount())
    return emitOpError("holds ")
           << getType().getElementCount() << " elements, its block "
           << *elements << " (E8)";
  return success();
}
