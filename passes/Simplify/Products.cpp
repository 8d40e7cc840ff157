//===- Products.cpp - Brings products into plannable form -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Layout.h"
#include "passes/Simplify/Matching.h"
#include "passes/Simplify/ProductSpec.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace parplan::simplify {

//===----------------------------------------------------------------------===//
// Transposes and flattened rows
//
// Products of the rows of experts are made in the form that they are to have:
// their letters name tokens.
//===----------------------------------------------------------------------===//

Value absorbTranspose(Operation *op, Rewriter &rewriter) {
  auto matmul = cast<MatmulOp>(op);
  if (matmul.getExperts())
    return {};
  ProductSpec spec(matmul);
  SmallVector<Value, 2> operands(op->getOperands());
  bool isChanged = false;
  for (int index : {0, 1}) {
    auto transpose = operands[index].getDefiningOp<TransposeOp>();
    if (!transpose)
      continue;
    std::string letters = spec.operands[index];
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
      letters[from] = spec.operands[index][dim];
    spec.operands[index] = letters;
    operands[index] = transpose.getInput();
    isChanged = true;
  }
  if (!isChanged)
    return {};
  return rewriter.create<MatmulOp>(operands[0], operands[1], spec.print());
}

/// The sizes of the atoms that form dimension `dim` of a reshaped value.
static SmallVector<int64_t> getAtomSizes(const Layout &layout, size_t dim) {
  SmallVector<int64_t> sizes;
  for (int atom : layout.getDims()[dim])
    sizes.push_back(layout.getSize(atom));
  return sizes;
}

/// How many leading dimensions of its input a reshape merges into its first:
/// 0 where it merges none.
static size_t countMergedRows(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (!reshape || getShape(value).empty())
    return 0;
  int64_t rows = 1;
  for (auto [dim, size] : llvm::enumerate(getShape(reshape.getInput()))) {
    rows *= size;
    if (rows == getShape(value)[0])
      return dim == 0 ? 0 : dim + 1;
  }
  return 0;
}

/// `unflattenRows` of an operand's first dimension, also where some of what it
/// merges has size 1.
static Value unflattenLeadingRows(MatmulOp matmul, Rewriter &rewriter) {
  ProductSpec spec(matmul);
  for (int index : {0, 1}) {
    Value operand = matmul->getOperand(index);
    size_t merged = countMergedRows(operand);
    if (merged == 0)
      continue;
    char letter = spec.operands[index][0];
    if (spec.isIn(1 - index, letter) || !spec.isInResult(letter))
      continue;
    std::string letters(1, letter), taken;
    for (size_t part = 1; part < merged; ++part)
      letters += spec.takeUnused(taken);
    replaceLetter(spec.operands[index], letter, letters);
    replaceLetter(spec.result, letter, letters);
    Value input = operand.getDefiningOp()->getOperand(0);
    SmallVector<int64_t> shape(getShape(input).take_front(merged));
    llvm::append_range(shape, getShape(operand).drop_front());
    Value operands[2] = {matmul.getLhs(), matmul.getRhs()};
    operands[index] = rewriter.reshape(input, shape);
    Value product =
        rewriter.create<MatmulOp>(operands[0], operands[1], spec.print());
    return rewriter.reshape(product, getShape(matmul));
  }
  return {};
}

/// [b s, k] x [k, n] becomes [b, s, k] x [k, n]; batches that both operands
/// flatten alike too.
Value unflattenRows(Operation *op, Rewriter &rewriter) {
  auto matmul = cast<MatmulOp>(op);
  if (matmul.getExperts())
    return {};
  if (Value product = unflattenLeadingRows(matmul, rewriter))
    return product;
  ProductSpec spec(matmul);
  std::optional<Layout> layouts[2];
  for (int index : {0, 1})
    if (op->getOperand(index).getDefiningOp<ReshapeOp>())
      layouts[index] = Layout::trace(op->getOperand(index));
  std::string taken;
  ProductSpec spread = spec;
  SmallVector<int64_t> resultShape(getShape(matmul));
  Layout::Dims targets[2];
  for (int index : {0, 1})
    if (layouts[index])
      targets[index] = layouts[index]->getDims();
  bool isChanged = false;
  for (char letter : spec.result) {
    SmallVector<int64_t> sizes;
    bool isPossible = true;
    for (int index : {0, 1}) {
      if (!spec.isIn(index, letter))
        continue;
      SmallVector<int64_t> own;
      if (layouts[index])
        own = getAtomSizes(*layouts[index], spec.operands[index].find(letter));
      isPossible &= sizes.empty() || sizes == own;
      isPossible &= own.size() >= 2;
      sizes = own;
    }
    if (!isPossible)
      continue;
    isChanged = true;
    std::string letters(1, letter);
    for (size_t part = 1; part < sizes.size(); ++part)
      letters += spec.takeUnused(taken);
    for (int index : {0, 1}) {
      size_t dim = spread.operands[index].find(letter);
      if (dim == std::string::npos)
        continue;
      Layout::Atoms atoms = targets[index][dim];
      targets[index].erase(targets[index].begin() + dim);
      for (auto [part, atom] : llvm::enumerate(atoms))
        targets[index].insert(targets[index].begin() + dim + part,
                              Layout::Atoms{atom});
      replaceLetter(spread.operands[index], letter, letters);
    }
    replaceLetter(spread.result, letter, letters);
  }
  if (!isChanged)
    return {};
  Value operands[2];
  for (int index : {0, 1})
    operands[index] = spread.operands[index] == spec.operands[index]
                          ? op->getOperand(index)
                          : layouts[index]->build(targets[index], rewriter);
  Value product =
      rewriter.create<MatmulOp>(operands[0], operands[1], spread.print());
  return rewriter.reshape(product, resultShape);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Letters as people write them: k is summed over, n are columns, rows are m or
/// b s, batches b h.
Value nameDimensions(Operation *op, Rewriter &) {
  auto matmul = cast<MatmulOp>(op);
  if (matmul.getExperts())
    return {};
  ProductSpec spec(matmul);
  std::string batches, rows, columns, summed;
  for (char letter : spec.operands[0] + spec.operands[1]) {
    std::string &list = !spec.isInResult(letter)                       ? summed
                        : spec.isIn(0, letter) && spec.isIn(1, letter) ? batches
                        : spec.isIn(0, letter)                         ? rows
                                               : columns;
    if (list.find(letter) == std::string::npos)
      list += letter;
  }
  std::string used;
  char renamed[128] = {};
  auto name = [&](char letter, StringRef preferred) {
    std::string candidates = preferred.str() + "abcdefghijklmnopqrstuvwxyz";
    for (char candidate : candidates)
      if (used.find(candidate) == std::string::npos) {
        used += candidate;
        renamed[static_cast<unsigned char>(letter)] = candidate;
        return;
      }
  };
  for (auto [index, letter] : llvm::enumerate(summed))
    name(letter, index == 0 ? "k" : "lj");
  for (auto [index, letter] : llvm::enumerate(columns))
    name(letter, index == 0 ? "n" : "opq");
  for (auto [index, letter] : llvm::enumerate(batches))
    name(letter, index == 0 ? "b" : "hgu");
  for (auto [index, letter] : llvm::enumerate(rows)) {
    bool isAlone = rows.size() == 1 && batches.empty();
    bool isLast = index + 1 == rows.size();
    name(letter, isAlone                         ? "m"
                 : index == 0 && batches.empty() ? "b"
                 : isLast                        ? "s"
                                                 : "cd");
  }
  ProductSpec named = spec;
  for (std::string *letters :
       {&named.operands[0], &named.operands[1], &named.result})
    for (char &letter : *letters)
      letter = renamed[static_cast<unsigned char>(letter)];
  if (named.print() != spec.print())
    matmul.setSpec(named.print());
  return {};
}

} // namespace parplan::simplify
