//===- Layout.cpp - Values as rearrangements of other values --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Layout.h"

#include "passes/Simplify/Matching.h"

#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan::simplify {

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

int Layout::addAtom(int64_t size, bool isRepeated) {
  sizes.push_back(size);
  repeated.push_back(isRepeated);
  return static_cast<int>(sizes.size()) - 1;
}

int64_t Layout::getSize(ArrayRef<int> atoms) const {
  int64_t size = 1;
  for (int atom : atoms)
    size *= sizes[atom];
  return size;
}

void Layout::split(int atom, int64_t minorSize) {
  int minor = addAtom(minorSize, repeated[atom]);
  sizes[atom] /= minorSize;
  for (Dims *list : {&rootDims, &dims})
    for (Atoms &atoms : *list)
      if (auto *found = llvm::find(atoms, atom); found != atoms.end())
        atoms.insert(found + 1, minor);
}

bool Layout::applyReshape(ArrayRef<int64_t> shape) {
  Layout changed = *this;
  Atoms line;
  for (const Atoms &atoms : changed.dims)
    line.append(atoms.begin(), atoms.end());
  // Every dimension takes atoms from the front of the line.
  changed.dims = {line};
  Dims result;
  size_t next = 0;
  for (int64_t size : shape) {
    Atoms &atoms = result.emplace_back();
    int64_t left = size;
    while (left != 1) {
      if (left == 0 || next == changed.dims[0].size())
        return false;
      int atom = changed.dims[0][next];
      int64_t own = changed.sizes[atom];
      if (left % own != 0) {
        if (own % left != 0)
          return false;
        changed.split(atom, own / left);
        own = left;
      }
      atoms.push_back(atom);
      left /= own;
      ++next;
    }
  }
  if (next != changed.dims[0].size())
    return false;
  changed.dims = std::move(result);
  *this = std::move(changed);
  return true;
}

void Layout::applyTranspose(ArrayRef<int64_t> permutation) {
  Dims result;
  for (int64_t dim : permutation)
    result.push_back(dims[dim]);
  dims = std::move(result);
}

void Layout::applyBroadcast(ArrayRef<int64_t> shape) {
  dims.insert(dims.begin(), shape.size() - dims.size(), Atoms());
  for (auto [size, atoms] : llvm::zip(shape, dims))
    if (getSize(atoms) != size)
      atoms = {addAtom(size, /*isRepeated=*/true)};
}

Layout Layout::trace(Value value, double *factor) {
  Operation *op = value.getDefiningOp();
  if (factor && isa_and_nonnull<MulOp, DivOp>(op)) {
    Scaled scaled = matchScaled(value);
    if (scaled.base != value) {
      *factor *= scaled.factor;
      return trace(scaled.base, factor);
    }
  }
  if (isa_and_nonnull<ReshapeOp, TransposeOp, BroadcastOp>(op)) {
    double inner = 1;
    Layout layout = trace(op->getOperand(0), factor ? &inner : nullptr);
    bool isApplied = true;
    if (auto transpose = dyn_cast<TransposeOp>(op))
      layout.applyTranspose(transpose.getPermutation());
    else if (isa<BroadcastOp>(op))
      layout.applyBroadcast(getShape(value));
    else
      isApplied = layout.applyReshape(getShape(value));
    if (isApplied) {
      if (factor)
        *factor *= inner;
      ++layout.opCount;
      return layout;
    }
  }
  Layout layout;
  layout.root = value;
  for (int64_t size : getShape(value)) {
    Atoms &atoms = layout.rootDims.emplace_back();
    if (size != 1)
      atoms.push_back(layout.addAtom(size, /*isRepeated=*/false));
  }
  layout.dims = layout.rootDims;
  return layout;
}

FailureOr<std::pair<Layout::Atoms, Layout::Atoms>>
Layout::cut(ArrayRef<int> atoms, int64_t minorSize) const {
  size_t count = atoms.size();
  int64_t size = 1;
  while (size < minorSize && count > 0)
    size *= sizes[atoms[--count]];
  if (size != minorSize)
    return failure();
  return std::make_pair(Atoms(atoms.take_front(count)),
                        Atoms(atoms.drop_front(count)));
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// Reshape to pieces, permute them, repeat, reshape to the target; steps that
/// change nothing are left out.
struct Layout::Steps {
  SmallVector<int64_t> pieces, permutation, spread, repeatedShape, target;
  bool reshapesFirst, transposes, broadcasts, reshapesLast;

  int count() const {
    bool reshapesToSpread = broadcasts && spread != permuted();
    return reshapesFirst + transposes + reshapesToSpread + broadcasts +
           reshapesLast;
  }
  SmallVector<int64_t> permuted() const {
    SmallVector<int64_t> shape;
    for (int64_t piece : permutation)
      shape.push_back(pieces[piece]);
    return shape;
  }
};

Layout::Steps Layout::plan(const Dims &target) const {
  Steps steps;
  // Where every atom lies in the root.
  SmallVector<int> order(sizes.size(), -1), rootDim(sizes.size(), -1);
  int position = 0;
  for (auto [dim, atoms] : llvm::enumerate(rootDims))
    for (int atom : atoms) {
      order[atom] = position++;
      rootDim[atom] = static_cast<int>(dim);
    }
  // Pieces: runs of atoms of one root dimension that stay neighbours.
  SmallVector<int> pieceOf(sizes.size(), -1);
  SmallVector<Atoms> pieces;
  int previous = -1;
  for (const Atoms &atoms : target) {
    for (int atom : atoms) {
      if (repeated[atom]) {
        previous = -1;
        continue;
      }
      bool continues = previous >= 0 && order[atom] == order[previous] + 1 &&
                       rootDim[atom] == rootDim[previous];
      if (!continues)
        pieces.emplace_back();
      pieces.back().push_back(atom);
      previous = atom;
    }
  }
  SmallVector<int> sorted = llvm::to_vector(llvm::seq<int>(0, pieces.size()));
  llvm::sort(sorted, [&](int left, int right) {
    return order[pieces[left][0]] < order[pieces[right][0]];
  });
  SmallVector<int64_t> place(pieces.size());
  for (auto [index, piece] : llvm::enumerate(sorted)) {
    steps.pieces.push_back(getSize(pieces[piece]));
    place[piece] = static_cast<int64_t>(index);
  }
  steps.permutation = place;
  steps.transposes = !llvm::is_sorted(place);
  // Repeated atoms become dimensions of size 1 among the pieces.
  size_t nextPiece = 0;
  size_t consumed = 0;
  steps.broadcasts = false;
  for (const Atoms &atoms : target) {
    steps.target.push_back(getSize(atoms));
    for (int atom : atoms) {
      if (repeated[atom]) {
        steps.broadcasts = true;
        steps.spread.push_back(1);
        steps.repeatedShape.push_back(sizes[atom]);
        continue;
      }
      if (consumed == 0) {
        int64_t size = getSize(pieces[nextPiece]);
        steps.spread.push_back(size);
        steps.repeatedShape.push_back(size);
      }
      if (++consumed == pieces[nextPiece].size()) {
        consumed = 0;
        ++nextPiece;
      }
    }
  }
  SmallVector<int64_t> rootShape(getShape(root));
  if (!steps.transposes && !steps.broadcasts) {
    // Only grouping changes.
    steps.reshapesFirst = false;
    steps.reshapesLast = steps.target != rootShape;
    return steps;
  }
  if (!steps.transposes) {
    steps.pieces = rootShape;
    steps.permutation =
        llvm::to_vector(llvm::seq<int64_t>(0, rootShape.size()));
  }
  // A root with sizes of 1 needs no reshape if they may stay where they are.
  if (steps.transposes && steps.pieces != rootShape && !steps.broadcasts) {
    SmallVector<int64_t> withOnes, permutation;
    for (const Atoms &atoms : target) {
      if (atoms.empty()) {
        permutation.clear();
        break;
      }
      int first = atoms[0];
      if (atoms != rootDims[rootDim[first]]) {
        permutation.clear();
        break;
      }
      permutation.push_back(rootDim[first]);
    }
    if (permutation.size() == rootShape.size()) {
      steps.pieces = rootShape;
      steps.permutation = permutation;
    }
  }
  steps.reshapesFirst = steps.pieces != rootShape;
  ArrayRef<int64_t> last = steps.broadcasts
                               ? ArrayRef<int64_t>(steps.repeatedShape)
                               : ArrayRef<int64_t>();
  SmallVector<int64_t> permuted = steps.permuted();
  steps.reshapesLast =
      steps.target !=
      (steps.broadcasts ? SmallVector<int64_t>(last) : permuted);
  return steps;
}

int Layout::countOps(const Dims &target) const { return plan(target).count(); }

Value Layout::build(const Dims &target, Rewriter &rewriter) const {
  Steps steps = plan(target);
  Value value = root;
  if (steps.reshapesFirst)
    value = rewriter.reshape(value, steps.pieces);
  if (steps.transposes)
    value = rewriter.transpose(value, steps.permutation);
  if (steps.broadcasts) {
    value = rewriter.reshape(value, steps.spread);
    value = rewriter.create<BroadcastOp>(
        RankedTensorType::get(steps.repeatedShape, getElementType(value)),
        value);
  }
  return rewriter.reshape(value, steps.target);
}

SmallVector<int64_t> Layout::getStrides(ArrayRef<int64_t> rootStrides) const {
  SmallVector<int64_t> strides(sizes.size(), 0);
  for (auto [atoms, rootStride] : llvm::zip(rootDims, rootStrides)) {
    int64_t stride = rootStride;
    for (int atom : llvm::reverse(atoms)) {
      strides[atom] = stride;
      stride *= sizes[atom];
    }
  }
  return strides;
}

} // namespace parplan::simplify
