//===- ParameterViews.cpp - Which elements a view reads -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/ParameterViews.h"

#include "parplan/Support/Check.h"

#include <numeric>

using namespace mlir;

namespace parplan::train {

static Sizes getRowMajorStrides(ArrayRef<int64_t> shape) {
  Sizes strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

AffineView getWholeView(ArrayRef<int64_t> shape) {
  return {0, getRowMajorStrides(shape), Sizes(shape)};
}

AffineView getView(ParameterOp parameter) {
  ArrayRef<int64_t> shape = parameter.getType().getShape();
  std::optional<ViewAttr> view = parameter.getView();
  if (!view)
    return getWholeView(shape);
  return {view->getOffset(), Sizes(view->getStrides()), Sizes(shape)};
}

Grid::Grid(ArrayRef<int64_t> shape, ArrayRef<AffineView> views) {
  int64_t total = 1;
  for (auto [size, stride] : llvm::zip(shape, getRowMajorStrides(shape))) {
    total *= size;
    if (size != 1)
      strides.push_back(stride);
  }
  if (strides.empty())
    strides.push_back(1);
  auto getUpper = [&](size_t atom) {
    return atom == 0 ? total : strides[atom - 1];
  };
  for (const AffineView &view : views)
    for (auto [stride, size] : llvm::zip(view.strides, view.shape)) {
      int64_t step = std::abs(stride);
      if (size == 1 || step == 0 || llvm::is_contained(strides, step))
        continue;
      // The last atom with a larger stride is cut, if it can be.
      auto *finer =
          llvm::find_if(strides, [&](int64_t own) { return own < step; });
      if (finer == strides.end() || step % *finer != 0 ||
          getUpper(finer - strides.begin()) % step != 0)
        continue;
      strides.insert(finer, step);
    }
  for (size_t atom = 0; atom < strides.size(); ++atom)
    sizes.push_back(getUpper(atom) / strides[atom]);
}

int64_t Box::getElementCount() const {
  int64_t count = 1;
  for (const Progression &atom : atoms)
    count *= atom.count;
  return count;
}

std::optional<Box> locate(const AffineView &view, const Grid &grid) {
  ArrayRef<int64_t> sizes = grid.getSizes(), strides = grid.getStrides();
  Box box;
  int64_t left = view.offset;
  for (int64_t stride : strides) {
    box.atoms.push_back({left / stride, 1, 1});
    left %= stride;
  }
  SmallVector<bool> used(sizes.size(), false);
  for (auto [stride, size] : llvm::zip(view.strides, view.shape)) {
    SmallVector<int, 2> &own = box.dims.emplace_back();
    if (size == 1)
      continue;
    if (stride == 0)
      return std::nullopt;
    int64_t count = size;
    const auto *found = llvm::find_if(strides, [&](int64_t atomStride) {
      return atomStride <= std::abs(stride);
    });
    if (found == strides.end() || stride % *found != 0)
      return std::nullopt;
    int64_t atom = found - strides.begin();
    int64_t step = stride / *found;
    // A dimension may run over whole atoms into the next ones.
    while (count > 1) {
      if (atom < 0 || used[atom])
        return std::nullopt;
      used[atom] = true;
      own.insert(own.begin(), static_cast<int>(atom));
      Progression &range = box.atoms[atom];
      if (step == 1 && range.start == 0 && count > sizes[atom] &&
          count % sizes[atom] == 0) {
        range.count = sizes[atom];
        count /= sizes[atom];
        --atom;
        continue;
      }
      int64_t last = range.start + step * (count - 1);
      if (last < 0 || last >= sizes[atom])
        return std::nullopt;
      range.count = count;
      range.step = step;
      break;
    }
  }
  return box;
}

bool areDisjoint(const Box &left, const Box &right) {
  for (auto [one, other] : llvm::zip(left.atoms, right.atoms)) {
    auto getBounds = [](const Progression &range) {
      int64_t last = range.start + range.step * (range.count - 1);
      return std::pair(std::min(range.start, last),
                       std::max(range.start, last));
    };
    auto [oneLow, oneHigh] = getBounds(one);
    auto [otherLow, otherHigh] = getBounds(other);
    if (oneHigh < otherLow || otherHigh < oneLow)
      return true;
    int64_t common = std::gcd(one.step, other.step);
    if (common > 1 && (one.start - other.start) % common != 0)
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Reading one view from another
//===----------------------------------------------------------------------===//

static Value reshape(OpBuilder &builder, Location location, Value value,
                     ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return builder.create<ReshapeOp>(
      location, RankedTensorType::get(shape, type.getElementType()), value);
}

static SmallVector<int> getAtoms(const Box &box) {
  SmallVector<int> atoms;
  for (const auto &dim : box.dims)
    atoms.append(dim.begin(), dim.end());
  return atoms;
}

/// Of a value with all elements, those of `target`, one dimension per atom.
static Value sliceAtoms(OpBuilder &builder, Location location, Value value,
                        const Grid &grid, const Box &target) {
  SmallVector<int64_t> dims, starts, limits, steps;
  for (auto [atom, range] : llvm::enumerate(target.atoms)) {
    if (range == Progression{0, grid.getSizes()[atom], 1})
      continue;
    dims.push_back(static_cast<int64_t>(atom));
    starts.push_back(range.start);
    limits.push_back(range.start + range.step * (range.count - 1) +
                     (range.step > 0 ? 1 : -1));
    steps.push_back(range.step);
  }
  value = reshape(builder, location, value, grid.getSizes());
  if (dims.empty())
    return value;
  return builder.create<SliceOp>(location, value, dims, starts, limits, steps);
}

Value buildRead(OpBuilder &builder, Location location, const LocatedValue &base,
                const Grid &grid, const Box &target, ArrayRef<int64_t> shape) {
  Value value = base.value;
  SmallVector<int> order = getAtoms(base.box), wanted = getAtoms(target);
  if (base.box.atoms != target.atoms) {
    value = sliceAtoms(builder, location, value, grid, target);
    order = wanted;
    llvm::sort(order);
  }
  if (order != wanted) {
    Sizes counts;
    for (int atom : order)
      counts.push_back(target.atoms[atom].count);
    SmallVector<int64_t> permutation;
    for (int atom : wanted) {
      auto *found = llvm::find(order, atom);
      PARPLAN_CHECK(found != order.end(), "a view lacks atom ", atom);
      permutation.push_back(found - order.begin());
    }
    value = reshape(builder, location, value, counts);
    value = builder.create<TransposeOp>(location, value, permutation);
  }
  return reshape(builder, location, value, shape);
}

std::optional<Sizes> findPermutation(const LocatedValue &base,
                                     const Box &target) {
  if (base.box.atoms != target.atoms ||
      base.box.dims.size() != target.dims.size())
    return std::nullopt;
  Sizes permutation;
  SmallVector<bool> used(target.dims.size(), false);
  for (const auto &dim : target.dims) {
    std::optional<int64_t> found;
    for (auto [index, own] : llvm::enumerate(base.box.dims))
      if (!found && !used[index] && own == dim)
        found = static_cast<int64_t>(index);
    if (!found)
      return std::nullopt;
    used[*found] = true;
    permutation.push_back(*found);
  }
  return permutation;
}

} // namespace parplan::train
