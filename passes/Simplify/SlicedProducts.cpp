//===- SlicedProducts.cpp - Products whose results are cut ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Layout.h"
#include "passes/Simplify/Matching.h"
#include "passes/Simplify/ProductSpec.h"

using namespace mlir;

namespace parplan::simplify {

namespace {
/// product (+ bias), rearranged, and sliced along one atom of its columns.
struct SlicedProduct {
  MatmulOp product;
  Value bias;
  Layout layout;
  /// The dimension of the product that is cut, and which of its atoms.
  size_t column;
  size_t atom;
  /// The operand with this dimension, a weight.
  int weight;
};
} // namespace

/// All users of `value`, when these are slices of neighbours along `dim` alone.
static SmallVector<SliceOp> matchParts(Value value, int64_t dim) {
  SmallVector<SliceOp> parts;
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice || slice.getDims() != ArrayRef<int64_t>{dim} ||
        slice.getSteps() != ArrayRef<int64_t>{1})
      return {};
    parts.push_back(slice);
  }
  return parts;
}

static bool overlap(SliceOp part, SliceOp other) {
  return part.getStarts()[0] < other.getLimits()[0] &&
         other.getStarts()[0] < part.getLimits()[0];
}

/// True when two halves of `parts` are turned against each other by a rotary
/// embedding, concat(x1 cos - x2 sin, x2 cos + x1 sin).
static bool areTurned(ArrayRef<SliceOp> parts) {
  if (parts.size() != 2)
    return false;
  SmallPtrSet<Operation *, 2> joined[2];
  for (auto [part, ends] : llvm::zip(parts, joined))
    for (Operation *product : part->getUsers())
      for (Operation *sum : product->getUsers())
        for (Operation *end : sum->getUsers())
          if (isa<MulOp>(product) && isa<AddOp, SubOp>(sum) &&
              isa<ConcatOp>(end))
            ends.insert(end);
  return llvm::any_of(joined[0],
                      [&](Operation *end) { return joined[1].contains(end); });
}

/// True when all that is done with `value` is to cut it along `dim` into parts
/// that overlap nowhere, and are no halves of what is to be turned.
static bool isOnlyCut(Value value, int64_t dim) {
  SmallVector<SliceOp> parts = matchParts(value, dim);
  for (auto [number, part] : llvm::enumerate(parts))
    for (SliceOp other : llvm::drop_begin(parts, number + 1))
      if (overlap(part, other))
        return false;
  return !areTurned(parts);
}

/// A parameter, or one of experts that are chosen at run time: slices cost
/// nothing.
static bool isWeight(Value value) {
  if (auto gather = value.getDefiningOp<GatherOp>())
    value = gather.getData();
  return value.getDefiningOp<ParameterOp>() != nullptr;
}

static std::optional<SlicedProduct> matchSlicedProduct(SliceOp slice) {
  if (slice.getDims().size() != 1 ||
      matchParts(slice.getInput(), slice.getDims()[0]).empty())
    return {};
  // A chain with other uses stays, and its parts would be computed twice.
  Value value = slice.getInput();
  Layout layout = Layout::trace(value);
  Value root = layout.getRoot();
  while (value != root) {
    value = value.getDefiningOp()->getOperand(0);
    if (!value.hasOneUse())
      return {};
  }
  SlicedProduct found{root.getDefiningOp<MatmulOp>(), {}, layout, 0, 0, 0};
  if (auto add = root.getDefiningOp<AddOp>()) {
    for (Value operand : add->getOperands())
      if (auto product = operand.getDefiningOp<MatmulOp>()) {
        found.product = product;
        found.bias = getOther(add, operand);
      }
    if (!found.product || !found.product->hasOneUse() ||
        found.product.getType() != root.getType())
      return {};
  }
  if (!found.product)
    return {};
  const Layout::Atoms &cut = layout.getDims()[slice.getDims()[0]];
  for (const Layout::Atoms &atoms : layout.getDims())
    for (int atom : atoms)
      if (layout.isRepeated(atom))
        return {};
  if (cut.size() != 1)
    return {};
  for (auto [dim, atoms] : llvm::enumerate(layout.getRootDims())) {
    auto *place = llvm::find(atoms, cut[0]);
    if (place == atoms.end()) {
      if (atoms.size() > 1)
        return {};
      continue;
    }
    found.column = dim;
    found.atom = place - atoms.begin();
  }
  ProductSpec spec(found.product);
  char letter = spec.result[found.column];
  if (spec.isIn(0, letter) == spec.isIn(1, letter))
    return {};
  found.weight = spec.isIn(1, letter) ? 1 : 0;
  // Rows of experts are those of their tokens.
  if (found.weight == 0 && found.product.getExperts())
    return {};
  if (!isWeight(found.product->getOperand(found.weight)))
    return {};
  return found;
}

/// Parts that overlap become slices of one part that has all of them, in the
/// place of the first: else they would be computed twice.
Value nestSlices(Operation *op, Rewriter &rewriter) {
  auto slice = cast<SliceOp>(op);
  if (!matchSlicedProduct(slice))
    return {};
  int64_t dim = slice.getDims()[0];
  SmallVector<SliceOp> left = matchParts(slice.getInput(), dim);
  llvm::erase(left, slice);
  SmallVector<SliceOp> group = {slice};
  for (size_t next = 0; next < group.size(); ++next)
    llvm::erase_if(left, [&](SliceOp other) {
      bool isNear = overlap(group[next], other);
      if (isNear)
        group.push_back(other);
      return isNear;
    });
  int64_t start = slice.getStarts()[0], limit = slice.getLimits()[0];
  for (SliceOp part : group) {
    start = std::min(start, part.getStarts()[0]);
    limit = std::max(limit, part.getLimits()[0]);
  }
  if (group.size() == 1 || limit - start == getShape(slice.getInput())[dim])
    return {};
  Value whole = rewriter.slice(slice.getInput(), dim, start, limit);
  Value replacement;
  for (SliceOp part : group) {
    Value nested = rewriter.slice(whole, dim, part.getStarts()[0] - start,
                                  part.getLimits()[0] - start);
    if (part == slice)
      replacement = nested;
    else
      part.getResult().replaceAllUsesWith(nested);
  }
  for (SliceOp part : llvm::drop_begin(group))
    part->dropAllReferences();
  return replacement;
}

/// True when the dimension that is cut vanishes: one q, k or v of three.
static bool isOneOfSeveral(SliceOp slice, ArrayRef<int64_t> sizes) {
  return sizes.size() > 1 && slice.getLimits()[0] - slice.getStarts()[0] == 1;
}

/// Dimension `dim` of `value` cut into `sizes`, and of its part `part` the
/// elements of the slice.
static Value cutDimension(Value value, size_t dim, ArrayRef<int64_t> sizes,
                          size_t part, SliceOp slice, Rewriter &rewriter) {
  SmallVector<int64_t> shape(getShape(value));
  bool isBroadcast = shape[dim] == 1;
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
  if (isBroadcast)
    std::fill_n(shape.begin() + dim, sizes.size(), 1);
  Value spread = rewriter.reshape(value, shape);
  if (!isBroadcast)
    spread = rewriter.slice(spread, dim + part, slice.getStarts()[0],
                            slice.getLimits()[0]);
  if (!isOneOfSeveral(slice, sizes))
    return spread;
  shape.assign(getShape(spread).begin(), getShape(spread).end());
  shape.erase(shape.begin() + dim + part);
  return rewriter.reshape(spread, shape);
}

/// The parts of a fused product (q, k and v; gate and up), each a product on a
/// view of the weight.
Value splitProduct(Operation *op, Rewriter &rewriter) {
  auto slice = cast<SliceOp>(op);
  std::optional<SlicedProduct> found = matchSlicedProduct(slice);
  if (!found || !isOnlyCut(slice.getInput(), slice.getDims()[0]))
    return {};
  rewriter.setOrigin(found->product);
  const Layout &layout = found->layout;
  const Layout::Atoms &atoms = layout.getRootDims()[found->column];
  SmallVector<int64_t> sizes;
  for (int atom : atoms)
    sizes.push_back(layout.getSize(atom));

  ProductSpec spec(found->product);
  char letter = spec.result[found->column];
  std::string letters(1, letter), taken;
  for (size_t part = 1; part < sizes.size(); ++part)
    letters += spec.takeUnused(taken);
  bool vanishes = isOneOfSeveral(slice, sizes);
  if (vanishes)
    letters.erase(found->atom, 1);
  Value operands[2] = {found->product.getLhs(), found->product.getRhs()};
  operands[found->weight] = cutDimension(
      operands[found->weight], spec.operands[found->weight].find(letter), sizes,
      found->atom, slice, rewriter);
  replaceLetter(spec.operands[found->weight], letter, letters);
  replaceLetter(spec.result, letter, letters);
  Value part = rewriter.create<MatmulOp>(operands[0], operands[1], spec.print(),
                                         found->product.getRows());
  if (found->bias) {
    size_t missing = layout.getRootDims().size() - getShape(found->bias).size();
    Value bias = found->bias;
    if (found->column >= missing)
      bias = cutDimension(bias, found->column - missing, sizes, found->atom,
                          slice, rewriter);
    part = rewriter.create<AddOp>(part, bias);
  }

  // From the dimensions of the product to those of the slice.
  SmallVector<int> order;
  SmallVector<int64_t> withoutOnes;
  for (const Layout::Atoms &dim : layout.getRootDims())
    order.append(dim.begin(), dim.end());
  int cut = atoms[found->atom];
  if (vanishes)
    llvm::erase(order, cut);
  for (int atom : order)
    withoutOnes.push_back(atom == cut
                              ? slice.getLimits()[0] - slice.getStarts()[0]
                              : layout.getSize(atom));
  SmallVector<int64_t> permutation;
  for (const Layout::Atoms &dim : layout.getDims())
    for (int atom : dim)
      if (!vanishes || atom != cut)
        permutation.push_back(llvm::find(order, atom) - order.begin());
  if (layout.getOpCount() == 0)
    return part;
  part = rewriter.reshape(part, withoutOnes);
  part = rewriter.transpose(part, permutation);
  return rewriter.reshape(part, getShape(op->getResult(0)));
}

} // namespace parplan::simplify
