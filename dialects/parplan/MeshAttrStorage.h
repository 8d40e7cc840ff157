//===- MeshAttrStorage.h - A mesh and its attribute -------------*- C++ -*-===//
//
// Part of parplan. Internal to dialects/parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_MESHATTRSTORAGE_H
#define PARPLAN_DIALECTS_PARPLAN_MESHATTRSTORAGE_H

#include "dialects/parplan/ParplanDialect.h"

#include "mlir/IR/AttributeSupport.h"

#include <tuple>

namespace parplan::detail {

/// Keeps the mesh beside its axes: verifiers ask each op for it.
struct MeshAttrStorage : mlir::AttributeStorage {
  using KeyTy = std::tuple<llvm::ArrayRef<MeshAxisAttr>>;

  explicit MeshAttrStorage(llvm::ArrayRef<MeshAxisAttr> axes);

  KeyTy getAsKey() const { return {axes}; }
  bool operator==(const KeyTy &key) const { return std::get<0>(key) == axes; }
  static llvm::hash_code hashKey(const KeyTy &key) {
    return llvm::hash_combine(std::get<0>(key));
  }
  static MeshAttrStorage *construct(mlir::AttributeStorageAllocator &allocator,
                                    const KeyTy &key) {
    return new (allocator.allocate<MeshAttrStorage>())
        MeshAttrStorage(allocator.copyInto(std::get<0>(key)));
  }

  llvm::ArrayRef<MeshAxisAttr> axes;
  Mesh mesh;
};

} // namespace parplan::detail

#endif // PARPLAN_DIALECTS_PARPLAN_MESHATTRSTORAGE_H
