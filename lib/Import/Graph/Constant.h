//===- Constant.h - Constants that know where they vary ---------*- C++ -*-===//
//
// Part of parplan.
//
// A constant is kept as its core: a tensor of the rank of the value, with size
// 1 in every dimension along which it does not vary. A scalar that was expanded
// to [512, 1, 8192, 8192] is one cell. Two kinds have no cells, because their
// cells would not fit memory though the graph only asks for little of them:
//
//   affine   a mask: true where offset + sum coefficients[d] * i_d <= 0
//   parts    a concatenation along the last dimension, kept apart
//
// Constants are interned: equal content, equal id.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_GRAPH_CONSTANT_H
#define PARPLAN_LIB_IMPORT_GRAPH_CONSTANT_H

#include "lib/Import/Graph/Element.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <vector>

namespace parplan::importer {

using ConstantId = uint32_t;
constexpr ConstantId noConstant = ~0u;

struct ConstantPart {
  ConstantId constant;
  /// Its size in the last dimension.
  int64_t size;

  bool operator==(const ConstantPart &) const = default;
};

struct Constant {
  enum class Kind : uint8_t { dense, affine, parts };

  Kind kind = Kind::dense;
  ElementType type = ElementType::f32;
  /// Size 1 where the constant does not vary (and 0 if it has no elements).
  Shape core;
  /// dense: the elements of the core, row-major.
  std::vector<Cell> cells;
  /// affine: the mask's function.
  std::vector<int64_t> coefficients;
  int64_t offset = 0;
  /// parts: in order.
  std::vector<ConstantPart> parts;

  bool isDense() const { return kind == Kind::dense; }
  bool isAffine() const { return kind == Kind::affine; }
  /// One value everywhere.
  bool isSplat() const { return isDense() && cells.size() == 1; }
};

/// An integer function of the indices of a tensor.
struct AffineFunction {
  std::vector<int64_t> coefficients;
  int64_t offset = 0;
};

/// Finds the function that a dense integer constant is, if it is one.
std::optional<AffineFunction> fitAffine(const Constant &constant);

/// Finds the affine function of a dense bool constant that varies along exactly
/// two dimensions, if rows and columns are cut along a diagonal.
std::optional<AffineFunction> fitMask(const Constant &constant);

/// Row-major strides of `core`, right-aligned to `rank` dimensions, with 0
/// where the core has size 1: indexes the core by indices of any shape that it
/// broadcasts to.
llvm::SmallVector<int64_t, 6> getCoreStrides(ShapeRef core, size_t rank);

/// Makes the elements of `core` explicit in a larger core `to` of any rank that
/// it broadcasts to.
std::vector<Cell> expandCells(const Constant &constant, ShapeRef to);

/// Walks the indices of `shape` row-major and keeps an offset per operand.
/// `visit(offsets)` is called once per element.
template <size_t count, typename Visit>
void forEachElement(ShapeRef shape,
                    const llvm::SmallVector<int64_t, 6> (&strides)[count],
                    Visit visit) {
  int64_t offsets[count] = {};
  llvm::SmallVector<int64_t, 6> index(shape.size(), 0);
  for (int64_t left = countElements(shape); left > 0; --left) {
    visit(offsets);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim]) {
        for (size_t operand = 0; operand < count; ++operand)
          offsets[operand] += strides[operand][dim];
        break;
      }
      index[dim] = 0;
      for (size_t operand = 0; operand < count; ++operand)
        offsets[operand] -= strides[operand][dim] * (shape[dim] - 1);
    }
  }
}

class ConstantPool {
public:
  const Constant &operator[](ConstantId id) const { return constants[id]; }

  /// Adds a dense constant; `cells` are the elements of `core` in which
  /// dimensions of size 1 mean "does not vary". Finds further dimensions
  /// without variation itself.
  ConstantId addDense(ElementType type, Shape core, std::vector<Cell> cells);
  ConstantId addAffine(AffineFunction function);
  ConstantId addParts(ElementType type, Shape core,
                      std::vector<ConstantPart> parts);

private:
  ConstantId intern(Constant constant);

  std::deque<Constant> constants;
  llvm::DenseMap<uint64_t, llvm::SmallVector<ConstantId, 1>> byHash;
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_GRAPH_CONSTANT_H
