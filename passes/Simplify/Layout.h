//===- Layout.h - Values as rearrangements of other values ------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_LAYOUT_H
#define PARPLAN_PASSES_SIMPLIFY_LAYOUT_H

#include "passes/Simplify/Rewriter.h"

namespace parplan::simplify {

/// A value as reshapes, transposes and broadcasts of a root. The dimensions of
/// both are products of the same atoms, so that a chain of such ops is just
/// another order and grouping of the atoms. Example: keys of attention,
///
///   %1 = reshape %0 : [b, t, g e] to [b, t, g, e]     root dims  b, t, (g e)
///   %2 = transpose %1 [0, 2, 1, 3]
///   %3 = broadcast of reshape %2 to [b, g, r, t, e]   r repeats
///   %4 = reshape %3 : to [b, h, t, e]                 dims  b, (g r), t, e
///
/// Dimensions of size 1 have no atoms.
class Layout {
public:
  using Atoms = llvm::SmallVector<int, 2>;
  using Dims = llvm::SmallVector<Atoms, 4>;

  /// The longest chain that ends in `value` and can be expressed. With
  /// `factor`, products with numbers in between are passed and multiplied up.
  static Layout trace(mlir::Value value, double *factor = nullptr);

  mlir::Value getRoot() const { return root; }
  const Dims &getDims() const { return dims; }
  const Dims &getRootDims() const { return rootDims; }
  /// Number of reshapes, transposes and broadcasts in the chain.
  int getOpCount() const { return opCount; }

  int64_t getSize(int atom) const { return sizes[atom]; }
  int64_t getSize(llvm::ArrayRef<int> atoms) const;
  bool isRepeated(int atom) const { return repeated[atom]; }

  /// Cuts a dimension so that its minor part has `minorSize` elements and
  /// returns both parts; fails where that is no boundary of atoms.
  mlir::FailureOr<std::pair<Atoms, Atoms>> cut(llvm::ArrayRef<int> atoms,
                                               int64_t minorSize) const;

  /// Builds the tensor whose dimensions are these atoms, from the root.
  mlir::Value build(const Dims &target, Rewriter &rewriter) const;
  /// Number of ops that `build` would create.
  int countOps(const Dims &target) const;

  /// Row-major strides of the root per atom; 0 for repeated ones.
  llvm::SmallVector<int64_t>
  getStrides(llvm::ArrayRef<int64_t> rootStrides) const;

private:
  bool applyReshape(llvm::ArrayRef<int64_t> shape);
  void applyTranspose(llvm::ArrayRef<int64_t> permutation);
  void applyBroadcast(llvm::ArrayRef<int64_t> shape);
  /// Replaces `atom` by a major part and a minor one of `minorSize` elements.
  void split(int atom, int64_t minorSize);
  int addAtom(int64_t size, bool isRepeated);

  struct Steps;
  Steps plan(const Dims &target) const;

  mlir::Value root;
  int opCount = 0;
  Dims rootDims, dims;
  llvm::SmallVector<int64_t, 8> sizes;
  llvm::SmallVector<bool, 8> repeated;
};

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_LAYOUT_H
