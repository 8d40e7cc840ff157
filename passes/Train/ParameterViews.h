//===- ParameterViews.h - Which elements a view reads -----------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_TRAIN_PARAMETERVIEWS_H
#define PARPLAN_PASSES_TRAIN_PARAMETERVIEWS_H

#include "dialects/parplan/ParplanOps.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace parplan::train {

using Sizes = llvm::SmallVector<int64_t, 4>;

/// What one `parplan.parameter` reads of a row-major initializer.
struct AffineView {
  int64_t offset = 0;
  Sizes strides, shape;

  bool operator==(const AffineView &other) const = default;
};

/// The view of a parameter; the whole initializer where it has none.
AffineView getView(ParameterOp parameter);
AffineView getWholeView(llvm::ArrayRef<int64_t> shape);

/// The dimensions of an initializer cut into *atoms*, so that a view reads an
/// arithmetic progression of every atom. Example: of [64, 192] as a fused
/// projection of 4 heads with 3 parts of 16 the views have strides 192, 48, 1;
/// the atoms are 64, 4 and 48, and a part reads [0, 64) [0, 4) [16, 32).
class Grid {
public:
  /// Cuts the dimensions of `shape` where strides of the views do.
  Grid(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<AffineView> views);

  llvm::ArrayRef<int64_t> getSizes() const { return sizes; }
  llvm::ArrayRef<int64_t> getStrides() const { return strides; }

private:
  Sizes sizes, strides;
};

/// `count` indices from `start` on, `step` apart.
struct Progression {
  int64_t start = 0, count = 1, step = 1;

  bool operator==(const Progression &other) const = default;
};

/// The elements that a view reads: a product of progressions.
struct Box {
  /// One for every atom of the grid.
  llvm::SmallVector<Progression, 4> atoms;
  /// Per dimension of the view its atoms, major to minor.
  llvm::SmallVector<llvm::SmallVector<int, 2>, 4> dims;

  int64_t getElementCount() const;
};

/// Fails where dimensions of the view meet in an atom.
std::optional<Box> locate(const AffineView &view, const Grid &grid);

/// True where it is certain.
bool areDisjoint(const Box &left, const Box &right);

/// A tensor and which elements of the initializer it has.
struct LocatedValue {
  mlir::Value value;
  Box box;
};

/// `target` as slice, transpose and reshape of `base`, which has all elements
/// of the initializer, or exactly those of `target`.
mlir::Value buildRead(mlir::OpBuilder &builder, mlir::Location location,
                      const LocatedValue &base, const Grid &grid,
                      const Box &target, llvm::ArrayRef<int64_t> shape);

/// The permutation p with dimension d of `target` equal to dimension p[d] of
/// `base`, if there is one.
std::optional<Sizes> findPermutation(const LocatedValue &base,
                                     const Box &target);

} // namespace parplan::train

#endif // PARPLAN_PASSES_TRAIN_PARAMETERVIEWS_H
