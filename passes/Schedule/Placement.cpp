//===- Placement.cpp - The program under construction ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Placement.h"

#include "dialects/parplan/TensorTypes.h"
#include "passes/Schedule/ArenaPacking.h"
#include "passes/Schedule/ExtractProgram.h"
#include "passes/Schedule/Releases.h"

#include "parplan/Support/Check.h"

#include <array>

using namespace mlir;

namespace parplan {

using exec::BufferKind;
using exec::BufferOp;

static bool isInterface(BufferOp buffer) { return !buffer.getBlocks().empty(); }

Placement::Placement(ModuleOp module, StringRef name, MeshAttr meshAttr,
                     IntegerAttr position)
    : context(module.getContext()), mesh(meshAttr.getMesh()),
      declarations(module.getContext()), statements(module.getContext()) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  program = builder.create<exec::ProgramOp>(
      module.getLoc(), name, position, meshAttr, /*arena=*/0,
      /*host_arena=*/IntegerAttr(), /*nvme_arena=*/IntegerAttr(), /*events=*/0,
      /*micro_batches=*/IntegerAttr(), /*staleness=*/IntegerAttr());
  Block &body = program.getBody().emplaceBlock();
  statements.setInsertionPointToEnd(&body);
}

void Placement::declareNext() {
  if (lastDeclaration)
    declarations.setInsertionPointAfter(lastDeclaration);
  else
    declarations.setInsertionPointToStart(&program.getBody().front());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value Placement::createBuffer(BufferKind kind, ArrayRef<int64_t> shape,
                              Type type, exec::BlockAttr block) {
  declareNext();
  auto buffer = declarations.create<BufferOp>(
      program.getLoc(), exec::BufferType::get(context, shape, type), kind, tier,
      /*offset=*/0, /*first=*/0, /*last=*/0, /*trained=*/false,
      exec::BufferRoleAttr(), /*batched=*/false, /*batch_dim=*/0, block,
      exec::BucketAttr());
  lastDeclaration = buffer;
  return buffer;
}

Value Placement::createActivation(ArrayRef<int64_t> shape, Type elementType) {
  return createBuffer(BufferKind::activation, shape, elementType, {});
}

Value Placement::createWorkspace(int64_t bytes) {
  if (bytes == 0)
    return {};
  Type byte = IntegerType::get(context, 8);
  return createBuffer(BufferKind::workspace, {bytes}, byte, {});
}

Value Placement::createInterface(BufferKind kind, RankedTensorType type,
                                 exec::BlockAttr block) {
  return createBuffer(kind, type.getShape(), type.getElementType(), block);
}

Value Placement::createBucket(BufferKind kind, RankedTensorType type,
                              exec::BucketAttr bucket) {
  Value buffer = createBuffer(kind, type.getShape(), type.getElementType(), {});
  buffer.getDefiningOp<BufferOp>().setBucketAttr(bucket);
  return buffer;
}

Value Placement::lookup(Value tensor) const {
  if (tier == exec::Tier::host)
    if (Value twin = onHost.lookup(tensor))
      return twin;
  return buffers.lookup(tensor);
}

Value Placement::define(Value tensor) {
  Value buffer = assigned.lookup(tensor);
  if (!buffer || exec::getTier(buffer) != tier) {
    RankedTensorType type = getTensorType(tensor);
    buffer = createActivation(type.getShape(), type.getElementType());
  }
  map(tensor, buffer);
  return buffer;
}

Value Placement::defineInPlace(Value result, Value operand) {
  if (isAssigned(result) || !canReuse(operand, result.getDefiningOp()))
    return define(result);
  Value buffer = lookup(operand);
  map(result, buffer);
  return buffer;
}

void Placement::map(Value tensor, Value buffer) {
  buffers[tensor] = buffer;
  holders[exec::getBuffer(buffer)].push_back(tensor);
}

bool Placement::canReuse(Value tensor, Operation *user) const {
  Value place = lookup(tensor);
  BufferOp buffer = exec::getBuffer(place);
  if (buffer.getKind() != BufferKind::activation || buffer.getTier() != tier)
    return false;
  // Aliases hold the same bytes: none of them may be read later.
  auto found = holders.find(buffer.getResult());
  return llvm::all_of(found->second, [&](Value holder) {
    return !shareBytes(lookup(holder), place) ||
           llvm::all_of(holder.getUsers(), [&](Operation *reader) {
             // What is on its way would have to be waited for.
             return reader == user || (reader->isBeforeInBlock(user) &&
                                       !isa<SendOp, TransferOp>(reader));
           });
  });
}

bool Placement::shareBytes(Value left, Value right) {
  return exec::getBuffer(left) == exec::getBuffer(right) &&
         exec::getByteRange(left).meets(exec::getByteRange(right));
}

Value Placement::createView(Value buffer, int64_t offset,
                            ArrayRef<int64_t> shape, Type elementType) {
  if (auto outer = buffer.getDefiningOp<exec::ViewOp>()) {
    offset += outer.getOffset();
    buffer = outer.getBuffer();
  }
  auto type = exec::BufferType::get(context, shape, elementType);
  if (offset == 0 && type == buffer.getType())
    return buffer;
  return statements.create<exec::ViewOp>(program.getLoc(), type, buffer,
                                         offset);
}

Value Placement::createChoice(exec::MemberAttr member, Value own, Value other) {
  return statements.create<exec::ChoiceOp>(program.getLoc(), own.getType(),
                                           member, own, other);
}

exec::BlockAttr Placement::getBlock(StringRef name, RankedTensorType global,
                                    ShardingAttr sharding,
                                    FlatSymbolRefAttr source, int64_t offset,
                                    ArrayRef<int64_t> strides,
                                    StringAttr slot) {
  auto none = AxisListAttr::get(context, ArrayRef<StringAttr>());
  SmallVector<exec::DimensionAttr> dims(global.getRank());
  int64_t rowMajor = 1;
  for (int64_t dim = global.getRank(); dim-- > 0;) {
    dims[dim] =
        exec::DimensionAttr::get(context, global.getDimSize(dim),
                                 sharding ? sharding.getDims()[dim] : none,
                                 strides.empty() ? rowMajor : strides[dim],
                                 /*zigzag=*/1);
    rowMajor *= global.getDimSize(dim);
  }
  return exec::BlockAttr::get(context, StringAttr::get(context, name), slot,
                              source, offset, dims,
                              sharding ? sharding.getStorage() : none);
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

int64_t Placement::getWidth(AxisListAttr axes) const {
  FailureOr<AxisList> positions = axes.resolve(mesh);
  PARPLAN_CHECK(succeeded(positions), "a collective over an unknown axis");
  return mesh.getWidth(*positions);
}

FlatSymbolRefAttr Placement::getCommunicator(AxisListAttr axes,
                                             exec::StreamKind stream) {
  auto [place, isNew] =
      communicators.try_emplace({axes, static_cast<int>(stream)});
  if (isNew) {
    std::string name = "c" + std::to_string(communicators.size() - 1);
    // Before all buffers: symbols are looked up from the start.
    OpBuilder builder(context);
    if (lastCommunicator)
      builder.setInsertionPointAfter(lastCommunicator);
    else
      builder.setInsertionPointToStart(&program.getBody().front());
    auto communicator =
        builder.create<exec::CommunicatorOp>(program.getLoc(), name, axes);
    lastCommunicator = communicator;
    place->second = FlatSymbolRefAttr::get(communicator.getSymNameAttr());
  }
  return place->second;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Offsets for the buffers of one tier.
static Placement::Memory pack(exec::Tier tier, int64_t alignment,
                              ArrayRef<BufferOp> resident,
                              ArrayRef<BufferOp> moving,
                              const std::vector<Lifetime> &lifetimes,
                              int64_t looks) {
  auto alignUp = [&](int64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  // What is never freed lies at the bottom, where it fragments nothing.
  int64_t bottom = 0, highest = 0;
  for (BufferOp buffer : resident) {
    buffer.setOffset(bottom);
    highest = bottom + buffer.getType().getByteSize();
    bottom = alignUp(highest);
  }
  Packing packing = packArena(lifetimes, alignment, looks);
  for (auto [moved, offset] : llvm::zip_equal(moving, packing.offsets)) {
    BufferOp buffer = moved;
    buffer.setOffset(bottom + offset);
    highest = std::max(highest, buffer.getEnd());
  }
  return {tier, highest,
          packing.lowerBound > 0 ? bottom + packing.lowerBound : highest};
}

SmallVector<Placement::Memory> Placement::placeBuffers(const PlanCosts &costs,
                                                       int64_t looks) {
  Block &body = program.getBody().front();
  for (auto view : llvm::make_early_inc_range(body.getOps<exec::ViewOp>()))
    if (view->use_empty())
      view.erase();
  DenseMap<Operation *, std::pair<int64_t, int64_t>> uses;
  SmallVector<exec::StatementOpInterface> all(
      body.getOps<exec::StatementOpInterface>());
  int64_t number = 0;
  for (exec::StatementOpInterface op : all) {
    for (const exec::Access &access : exec::getAccesses(op)) {
      auto [place, isNew] =
          uses.try_emplace(exec::getBuffer(access.array), number, number);
      // The calls of a group run side by side.
      place->second.second = number + isIssuedWithNext(op);
    }
    ++number;
  }
  DenseMap<int64_t, int64_t> releases = findReleases(program, costs);
  struct Buffers {
    SmallVector<BufferOp> resident, moving;
    std::vector<Lifetime> lifetimes;
  };
  std::array<Buffers, exec::tierCount> tiers;
  for (BufferOp buffer : llvm::make_early_inc_range(body.getOps<BufferOp>())) {
    auto use = uses.find(buffer);
    if (use == uses.end() && !buffer.isPermanent()) {
      buffer.erase();
      continue;
    }
    int64_t first = buffer.isPermanent() ? -1 : use->second.first;
    int64_t last = isInterface(buffer) ? number : use->second.second;
    buffer.setFirst(first);
    buffer.setLast(last);
    Buffers &own = tiers[static_cast<size_t>(buffer.getTier())];
    (buffer.isPermanent() ? own.resident : own.moving).push_back(buffer);
    if (auto release = releases.find(last); release != releases.end())
      last = release->second - 1;
    if (!buffer.isPermanent())
      own.lifetimes.push_back({buffer.getType().getByteSize(), first, last});
  }
  // What goes to a file from the host goes without another copy.
  bool stores = llvm::any_of(all, [](exec::StatementOpInterface op) {
    return op.getStreamKind() == exec::StreamKind::storage;
  });
  SmallVector<Memory> memory;
  std::array<int64_t, exec::tierCount> bounds = {};
  for (exec::Tier each :
       {exec::Tier::device, exec::Tier::host, exec::Tier::nvme}) {
    Buffers &own = tiers[static_cast<size_t>(each)];
    if (each != exec::Tier::device && own.resident.empty() &&
        own.moving.empty())
      continue;
    int64_t alignment = stores && each == exec::Tier::host
                            ? exec::storageAlignment
                            : exec::getAlignment(each);
    memory.push_back(
        pack(each, alignment, own.resident, own.moving, own.lifetimes, looks));
    program.setArenaBytes(each, memory.back().peak);
    bounds[static_cast<size_t>(each)] = memory.back().lowerBound;
  }
  program->setAttr(arenaBoundsName, DenseI64ArrayAttr::get(context, bounds));
  return memory;
}

} // namespace parplan
