//===- ExpertRows.cpp - Rows of experts, for the tokens they have ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/ExpertRows.h"
#include "passes/Simplify/ExpertLetters.h"
#include "passes/Simplify/ExpertParts.h"

#include "parplan/Support/Sizes.h"

using namespace mlir;

namespace parplan::simplify {

Value RowBuilder::dispatch(Value tokens, Value weights) {
  Value &made = dispatched[{tokens, weights}];
  if (made)
    return made;
  SmallVector<int64_t> shape{expertCount};
  llvm::append_range(shape, getShape(tokens));
  rewriter.setOnnxOp("MoE");
  return made = rewriter.create<MoeDispatchOp>(
             RankedTensorType::get(shape, getElementType(tokens)), tokens,
             experts, weights, /*first_expert=*/Value(),
             /*groups=*/DenseI64ArrayAttr());
}

Value RowBuilder::buildOnes(Type element) {
  Value &made = ones[element];
  if (made)
    return made;
  SmallVector<int64_t> shape(getTokens());
  shape.push_back(1);
  return made = rewriter.ones(RankedTensorType::get(shape, element));
}

Value RowBuilder::spreadOverRows(Value value, ArrayRef<int64_t> rest) {
  Type element = getElementType(value);
  SmallVector<int64_t> shape{expertCount};
  if (hasAllRows() || !isa<FloatType>(element)) {
    shape.append(getTokens().size(), 1);
    llvm::append_range(shape, rest);
    return toShape(value, shape, rewriter);
  }
  ExpertLetters letters(getTokens().size());
  char summed = letters.get('k', "k"), width = letters.get('n', "n");
  std::string rows = "e" + letters.tokens;
  std::string spec =
      rows + summed + ",e" + summed + width + "->" + rows + width;
  Value ones = dispatch(buildOnes(element));
  auto product = rewriter.create<MatmulOp>(
      ones, toShape(value, {expertCount, 1, multiplySizes(rest)}, rewriter),
      spec, findRows(spec, letters.tokens));
  // Its dimensions have their names.
  rewriter.skip(product);
  llvm::append_range(shape, getTokens());
  llvm::append_range(shape, rest);
  return toShape(product, shape, rewriter);
}

std::optional<ExpertRows> RowBuilder::findRows(StringRef spec,
                                               StringRef tokenLetters) const {
  MatmulSpec letters = *MatmulSpec::parse(spec);
  std::string common, rows;
  for (char letter : letters.lhs)
    if (!letters.rhs.contains(letter))
      rows += letter;
    else if (letters.result.contains(letter))
      common += letter;
  if (common != "e" || rows != tokenLetters || hasAllRows())
    return std::nullopt;
  return ExpertRows{experts, /*first=*/Value(), tokenLetters, expertCount};
}

} // namespace parplan::simplify
