//===- KernelSpace.cpp - Fewer and longer loops ---------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/KernelBuilder.h"

using namespace mlir;

namespace parplan {

namespace {

/// The strides of every access of a kernel, one list per dimension of its
/// space.
class Space {
public:
  explicit Space(exec::KernelOp kernel)
      : kernel(kernel), sizes(kernel.getSpace()) {
    for (Operation &op : kernel.getBody().front())
      if (isa<exec::LoadOp, exec::StoreOp>(op))
        accesses.push_back({&op, SmallVector<int64_t>(getStrides(&op))});
  }

  void simplify() {
    for (size_t dim = sizes.size(); dim-- > 0;)
      if (sizes.size() > 1 && sizes[dim] == 1 && !isIndexUsed(dim))
        drop(dim);
    for (size_t dim = sizes.size(); dim-- > 1;)
      if (canJoin(dim - 1)) {
        sizes[dim] *= sizes[dim - 1];
        drop(dim - 1);
      }
    kernel.setSpace(sizes);
    Builder builder(kernel.getContext());
    for (auto &[op, strides] : accesses)
      op->setAttr("strides", builder.getDenseI64ArrayAttr(strides));
  }

private:
  static ArrayRef<int64_t> getStrides(Operation *op) {
    if (auto load = dyn_cast<exec::LoadOp>(op))
      return load.getStrides();
    return cast<exec::StoreOp>(op).getStrides();
  }

  bool isIndexUsed(size_t dim) {
    return !kernel.getBody().getArgument(dim).use_empty();
  }

  /// Whether `dim` and its successor are one dimension for every access.
  bool canJoin(size_t dim) {
    if (isIndexUsed(dim) || isIndexUsed(dim + 1))
      return false;
    return llvm::all_of(accesses, [&](auto &access) {
      ArrayRef<int64_t> strides = access.second;
      return strides[dim] == strides[dim + 1] * sizes[dim + 1];
    });
  }

  void drop(size_t dim) {
    sizes.erase(sizes.begin() + dim);
    for (auto &[op, strides] : accesses)
      strides.erase(strides.begin() + dim);
    kernel.getBody().front().eraseArgument(dim);
  }

  exec::KernelOp kernel;
  SmallVector<int64_t> sizes;
  SmallVector<std::pair<Operation *, SmallVector<int64_t>>> accesses;
};

} // namespace

void simplifySpace(exec::KernelOp kernel) { Space(kernel).simplify(); }

} // namespace parplan
