//===- Buckets.cpp - Verification of buckets ------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/Inference.h"
#include "dialects/parplan/ParplanOps.h"

using namespace mlir;

namespace parplan {

/// Tensors of `types` at `offsets` lie in `bucket`, one behind the other.
static LogicalResult verifyPlaces(Operation *op, TypeRange types,
                                  ArrayRef<int64_t> offsets,
                                  RankedTensorType bucket) {
  if (types.size() != offsets.size())
    return op->emitOpError("has ")
           << offsets.size() << " offsets for " << types.size() << " tensors";
  int64_t end = 0;
  for (auto [index, offset] : llvm::enumerate(offsets)) {
    auto type = cast<RankedTensorType>(types[index]);
    if (type.getElementType() != bucket.getElementType())
      return op->emitOpError("has ")
             << type.getElementType() << " in a bucket of "
             << bucket.getElementType();
    if (offset < end)
      return op->emitOpError("tensor ")
             << index << " starts at " << offset << ", before " << end;
    end = offset + type.getNumElements();
  }
  if (end > bucket.getNumElements())
    return op->emitOpError("ends at element ")
           << end << " of " << bucket.getNumElements();
  return success();
}

LogicalResult PackOp::verify() {
  return verifyPlaces(*this, getInputs().getTypes(), getOffsets(),
                      getTensorType(getResult()));
}

LogicalResult UnpackOp::verify() {
  return verifyPlaces(*this, getOutputs().getTypes(), getOffsets(),
                      getTensorType(getBucket()));
}

LogicalResult BucketParameterOp::verify() {
  auto global = (*this)->getAttrOfType<TypeAttr>(attributes::globalType);
  ShardingAttr sharding = getSharding(getResult());
  if (!global || !sharding)
    return emitOpError("needs ")
           << attributes::globalType << " and " << attributes::shardings;
  MeshOp meshOp = findMesh(*this, sharding.getMesh());
  if (!meshOp)
    return emitOpError() << "there is no mesh " << sharding.getMesh();
  const Mesh &mesh = meshOp.getMesh().getMesh();
  FailureOr<Sharding> whole = sharding.resolve(mesh);
  auto type = dyn_cast<RankedTensorType>(global.getValue());
  if (failed(whole) || !type || type.getRank() != 1 || whole->dims.size() != 1)
    return emitOpError("needs a sharding of one dimension");
  whole->storage.clear();
  type = type.clone(whole->getLocalShape(mesh, type.getShape()));
  SmallVector<Type> types;
  SmallVector<int64_t> offsets;
  for (auto member : getMembers().getAsRange<MemberAttr>()) {
    FailureOr<Sharding> own = member.getSharding().resolve(mesh);
    RankedTensorType blocks = member.getType();
    if (failed(own) || own->isPartial() || own->isStored() ||
        verifySharding(*own, mesh, blocks.getRank()))
      return emitOpError("member ")
             << member << " is pending or stored, or its axes do not fit";
    types.push_back(blocks.clone(own->getLocalShape(mesh, blocks.getShape())));
    offsets.push_back(member.getOffset());
  }
  return verifyPlaces(*this, types, offsets, type);
}

} // namespace parplan
