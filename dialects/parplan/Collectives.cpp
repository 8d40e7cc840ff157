//===- Collectives.cpp - Verification of moves and collectives ------------===//
//
// Part of parplan. What a move makes of its operand's sharding is recomputed
// and compared with `out_sharding`.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/Inference.h"
#include "dialects/parplan/OpFamilies.h"

#include "parplan/Support/Check.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Steps on a sharding. Each returns what forbids the step, or nothing.
//===----------------------------------------------------------------------===//

namespace {
using Problem = std::optional<std::string>;

/// A sharding under change, with the names of its mesh.
class State {
public:
  State(const Mesh &mesh, Sharding sharding)
      : mesh(mesh), sharding(std::move(sharding)) {}

  const Sharding &get() const { return sharding; }

  /// `dim`, or storage at -1.
  Problem removeMinor(int64_t dim, ArrayRef<int> axes) {
    AxisList *list = find(dim);
    if (!list)
      return noDimension(dim);
    if (list->size() < axes.size() ||
        !llvm::equal(ArrayRef(*list).take_back(axes.size()), axes))
      return name(axes) + " is not the minor end of " + describe(dim);
    list->truncate(list->size() - axes.size());
    return {};
  }

  Problem addMinor(int64_t dim, ArrayRef<int> axes) {
    AxisList *list = find(dim);
    if (!list)
      return noDimension(dim);
    if (Problem problem = requireFree(axes))
      return problem;
    list->append(axes.begin(), axes.end());
    return {};
  }

  Problem removePartial(ArrayRef<int> axes, ReduceKind kind) {
    ReductionKind wanted = sharding.reduction;
    bool sameKind = (kind == ReduceKind::sum && wanted == ReductionKind::sum) ||
                    (kind == ReduceKind::max && wanted == ReductionKind::max);
    if (!sameKind)
      return "the operand is pending as a " +
             std::string(wanted == ReductionKind::sum ? "sum" : "max") +
             ", not as a " + stringifyReduceKind(kind).str() + " (S8)";
    for (int axis : axes) {
      auto *found = llvm::find(sharding.partial, axis);
      if (found == sharding.partial.end())
        return "the operand is not pending over " + name(axis) + " (S8)";
      sharding.partial.erase(found);
    }
    if (sharding.partial.empty())
      sharding.reduction = ReductionKind::sum;
    return {};
  }

  Problem addPartial(ArrayRef<int> axes) {
    if (Problem problem = requireFree(axes))
      return problem;
    if (sharding.isPartial() && sharding.reduction != ReductionKind::sum)
      return "the operand is already pending as a max (S9)";
    sharding.partial.append(axes.begin(), axes.end());
    llvm::sort(sharding.partial);
    return {};
  }

  /// The first axes of the storage to the minor end of dimension 0, or back.
  Problem moveStorage(ArrayRef<int> axes) {
    if (sharding.dims.empty())
      return noDimension(0);
    AxisList &storage = sharding.storage, &first = sharding.dims[0];
    if (storage.size() >= axes.size() &&
        llvm::equal(ArrayRef(storage).take_front(axes.size()), axes)) {
      first.append(axes.begin(), axes.end());
      storage.erase(storage.begin(), storage.begin() + axes.size());
      return {};
    }
    if (Problem problem = removeMinor(0, axes))
      return "neither the storage starts with " + name(axes) +
             " nor dimension 0 ends with it (S6)";
    storage.insert(storage.begin(), axes.begin(), axes.end());
    return {};
  }

  Problem requireFree(ArrayRef<int> axes) const {
    AxisList used = sharding.getUsedAxes();
    for (int axis : axes)
      if (llvm::is_contained(used, axis))
        return name(axis) + " is already used by the operand (S1)";
    return {};
  }

  std::string name(int axis) const {
    return "\"" + mesh.getAxis(axis).name + "\"";
  }
  std::string name(ArrayRef<int> axes) const {
    std::string text;
    for (int axis : axes)
      text += (text.empty() ? "" : ", ") + name(axis);
    return "{" + text + "}";
  }

private:
  AxisList *find(int64_t dim) {
    if (dim == -1)
      return &sharding.storage;
    if (dim < 0 || dim >= static_cast<int64_t>(sharding.dims.size()))
      return nullptr;
    return &sharding.dims[dim];
  }
  static std::string noDimension(int64_t dim) {
    return "there is no dimension " + std::to_string(dim) + " (S2)";
  }
  static std::string describe(int64_t dim) {
    return dim == -1 ? "the storage" : "dimension " + std::to_string(dim);
  }

  const Mesh &mesh;
  Sharding sharding;
};
} // namespace

/// Blocks keep their size when every dimension is split as widely as before.
static Problem checkSend(const Mesh &mesh, const Sharding &from,
                         const Sharding &to) {
  if (from.isPartial() || to.isPartial())
    return "a pending value cannot be sent (S12)";
  if (from.dims.size() != to.dims.size() ||
      mesh.getWidth(from.storage) != mesh.getWidth(to.storage))
    return "the blocks differ in size (S12)";
  for (auto [left, right] : llvm::zip(from.dims, to.dims))
    if (mesh.getWidth(left) != mesh.getWidth(right))
      return "the blocks differ in size (S12)";
  return {};
}

/// What `op` makes of `state`.
static Problem apply(Operation *op, State &state, ArrayRef<int> axes) {
  auto dim = [](uint64_t attribute) { return static_cast<int64_t>(attribute); };
  if (auto slice = dyn_cast<ShardSliceOp>(op))
    return state.addMinor(dim(slice.getDim()), axes);
  if (isa<PendOp>(op))
    return state.addPartial(axes);
  if (isa<StorageViewOp>(op))
    return state.moveStorage(axes);
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return state.removePartial(axes, reduce.getKind());
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return state.removeMinor(dim(gather.getDim()), axes);
  if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
    if (Problem problem = state.removePartial(axes, scatter.getKind()))
      return problem;
    return state.addMinor(dim(scatter.getDim()), axes);
  }
  if (auto exchange = dyn_cast<AllToAllOp>(op)) {
    if (Problem problem = state.removeMinor(dim(exchange.getFromDim()), axes))
      return problem;
    return state.addMinor(dim(exchange.getToDim()), axes);
  }
  if (auto reduce = dyn_cast<ReduceToOp>(op))
    return State(state).removePartial(axes, reduce.getKind());
  PARPLAN_CHECK(isa<BroadcastFromOp>(op), "unknown move");
  return state.requireFree(axes);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// The sharding as a value, checked by S1 and S2 against the mesh and the type.
static FailureOr<Sharding> resolveSharding(Operation *op,
                                           ShardingAttr attribute,
                                           const Mesh &mesh,
                                           RankedTensorType type) {
  FailureOr<Sharding> sharding = attribute.resolve(mesh);
  if (failed(sharding))
    return op->emitOpError() << attribute << " names an axis that the mesh "
                             << attribute.getMesh() << " lacks (S2)";
  // The local type of a stored value is its flat piece.
  size_t rank = sharding->isStored() ? sharding->dims.size() : type.getRank();
  if (Problem problem = verifySharding(*sharding, mesh, rank))
    return op->emitOpError() << attribute << ": " << *problem;
  return sharding;
}

LogicalResult verifyMove(Operation *op) {
  auto out = op->getAttrOfType<ShardingAttr>("out_sharding");
  auto axesAttribute = op->getAttrOfType<AxisListAttr>("axes");
  MeshOp meshOp = findMesh(op, out.getMesh());
  if (!meshOp)
    return op->emitOpError() << "there is no mesh " << out.getMesh();
  const Mesh &mesh = meshOp.getMesh().getMesh();
  FailureOr<Sharding> target =
      resolveSharding(op, out, mesh, getTensorType(op->getResult(0)));
  if (failed(target))
    return failure();
  FailureOr<AxisList> axes = axesAttribute.resolve(mesh);
  if (failed(axes) || axes->empty())
    return op->emitOpError()
           << "axes " << axesAttribute << " are not axes of the mesh "
           << out.getMesh() << " (S2)";
  if (auto root = op->getAttrOfType<IntegerAttr>("root"))
    if (root.getInt() < 0 || root.getInt() >= mesh.getWidth(*axes))
      return op->emitOpError() << "root " << root.getInt() << " of "
                               << mesh.getWidth(*axes) << " ranks";

  auto send = dyn_cast<SendReceiveOp>(op);
  ShardingAttr in =
      send ? send.getInSharding() : getSharding(op->getOperand(0));
  if (!in)
    return success();
  FailureOr<Sharding> source =
      resolveSharding(op, in, mesh, getTensorType(op->getOperand(0)));
  if (failed(source))
    return failure();
  if (send) {
    if (Problem problem = checkSend(mesh, *source, *target))
      return op->emitOpError(*problem);
    ShardingAttr actual = getSharding(op->getOperand(0));
    if (actual && actual != in)
      return op->emitOpError()
             << "is sent from " << in << ", but the operand lies as " << actual;
    return success();
  }
  State state(mesh, *source);
  if (Problem problem = apply(op, state, *axes))
    return op->emitOpError(*problem);
  if (state.get() != *target)
    return op->emitOpError()
           << "out_sharding is " << out << ", but the operand " << in
           << " becomes "
           << ShardingAttr::get(out.getMesh(), mesh, state.get());
  return success();
}

LogicalResult ReshardOp::verify() {
  MeshOp meshOp = findMesh(*this, getTarget().getMesh());
  if (!meshOp)
    return emitOpError() << "there is no mesh " << getTarget().getMesh();
  return resolveSharding(*this, getTarget(), meshOp.getMesh().getMesh(),
                         getTensorType(getInput()));
}

LogicalResult BlockStartOp::verify() {
  MeshOp mesh = getOnlyMesh(getOperation()->getParentOfType<ModuleOp>());
  if (!mesh)
    return emitOpError("needs a module with one mesh");
  if (failed(getAxes().resolve(mesh.getMesh().getMesh())))
    return emitOpError() << "axes " << getAxes()
                         << " are not axes of the mesh (S2)";
  if (static_cast<int64_t>(getSize()) < 0)
    return emitOpError("size is negative");
  return success();
}

LogicalResult ClearPaddingOp::verify() {
  if (failed(requireDims(getLoc(), getDims(),
                         getTensorType(getInput()).getRank())))
    return failure();
  if (getSizes().size() != getDims().size() ||
      getAxes().size() != getDims().size())
    return emitOpError("needs one size and one axis list per dimension");
  MeshOp mesh = getOnlyMesh(getOperation()->getParentOfType<ModuleOp>());
  if (!mesh)
    return emitOpError("needs a module with one mesh");
  for (Attribute attribute : getAxes()) {
    auto axes = dyn_cast<AxisListAttr>(attribute);
    if (!axes || failed(axes.resolve(mesh.getMesh().getMesh())))
      return emitOpError() << attribute << " are not axes of the mesh (S2)";
  }
  return success();
}

} // namespace parplan
