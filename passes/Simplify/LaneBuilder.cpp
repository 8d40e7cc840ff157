//===- LaneBuilder.cpp - Builds what experts compute, as one --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/LaneBuilder.h"
#include "passes/Simplify/ExpertLetters.h"
#include "passes/Simplify/ExpertParts.h"

#include "parplan/Support/Sizes.h"

using namespace mlir;

namespace parplan::simplify {

SmallVector<int64_t> LaneBuilder::getShapeOf(const Lanes &lanes) const {
  SmallVector<int64_t> shape{static_cast<int64_t>(lanes.values.size())};
  if (lanes.lead > 0)
    llvm::append_range(shape, rows.getTokens());
  llvm::append_range(shape, lanes.getRest());
  return shape;
}

Value LaneBuilder::build(Lanes *lanes) {
  if (Value known = built.lookup(lanes))
    return known;
  Value made = buildNew(*lanes);
  return built[lanes] = made;
}

Value LaneBuilder::buildNew(const Lanes &lanes) {
  switch (lanes.kind) {
  case Lanes::Kind::tokens:
    return buildTokens(lanes);
  case Lanes::Kind::stack:
    return stacks.read(lanes.values, rewriter);
  case Lanes::Kind::shared:
    return lanes.values[0];
  case Lanes::Kind::op:
    break;
  }
  Operation *op = lanes.values[0].getDefiningOp();
  if (isa<ReshapeOp>(op))
    return toShape(build(lanes.operands[0]), getShapeOf(lanes), rewriter);
  if (auto slice = dyn_cast<SliceOp>(op))
    return buildSlice(lanes, slice);
  if (auto product = dyn_cast<MatmulOp>(op))
    return buildProduct(lanes, product);
  return buildElementwise(lanes, op);
}

Value LaneBuilder::buildTokens(const Lanes &lanes) {
  Value tokens = lanes.values[0];
  if (lanes.layout) {
    Layout::Dims dims;
    for (auto [dim, atoms] : llvm::enumerate(lanes.layout->getDims())) {
      Layout::Atoms kept;
      for (int atom : atoms)
        if (dim >= lanes.lead || !lanes.layout->isRepeated(atom))
          kept.push_back(atom);
      dims.push_back(kept);
    }
    tokens = lanes.layout->build(dims, rewriter);
  }
  SmallVector<int64_t> shape(rows.getTokens());
  shape.push_back(multiplySizes(lanes.getRest()));
  tokens = toShape(tokens, shape, rewriter);
  return toShape(rows.dispatch(tokens), getShapeOf(lanes), rewriter);
}

Value LaneBuilder::buildSlice(const Lanes &lanes, SliceOp slice) {
  int64_t prefix = 1 + (lanes.lead > 0 ? rows.getTokens().size() : 0);
  SmallVector<int64_t> dims;
  for (int64_t dim : slice.getDims())
    dims.push_back(dim + prefix - static_cast<int64_t>(lanes.lead));
  Value input = build(lanes.operands[0]);
  rewriter.setOrigin(slice);
  return rewriter.create<SliceOp>(input, dims, slice.getStarts(),
                                  slice.getLimits(), slice.getSteps());
}

Value LaneBuilder::buildElementwise(const Lanes &lanes, Operation *op) {
  SmallVector<Value> operands;
  size_t rest = lanes.getRest().size();
  for (Lanes *operand : lanes.operands) {
    Value value = build(operand);
    ArrayRef<int64_t> own = getShape(operand->values[0]);
    // Dimensions of one element in place of the tokens.
    ArrayRef<int64_t> kept = own.take_back(std::min(rest, own.size()));
    SmallVector<int64_t> padded(rest - kept.size(), 1);
    llvm::append_range(padded, kept);
    rewriter.setOrigin(op);
    if (operand->lead == 0 && operand->kind == Lanes::Kind::shared) {
      value = toShape(value, kept, rewriter);
    } else if (operand->lead == 0 && lanes.lead > 0) {
      value = rows.spreadOverRows(value, padded);
    } else if (operand->lead == 0) {
      padded.insert(padded.begin(), rows.countExperts());
      value = toShape(value, padded, rewriter);
    }
    operands.push_back(value);
  }
  rewriter.setOrigin(op);
  return rewriter
      .cloneWith(op, operands,
                 RankedTensorType::get(getShapeOf(lanes),
                                       getElementType(lanes.values[0])))
      ->getResult(0);
}

Value LaneBuilder::buildProduct(const Lanes &lanes, MatmulOp product) {
  MatmulSpec spec = *MatmulSpec::parse(product.getSpec());
  StringRef terms[2] = {spec.lhs, spec.rhs};
  // Tokens first, as products of other layers have them.
  int order[2] = {0, 1};
  if (lanes.operands[0]->lead == 0)
    std::swap(order[0], order[1]);
  ExpertLetters letters(rows.getTokens().size());
  Value operands[2];
  std::string made;
  for (auto [place, index] : llvm::enumerate(order)) {
    Lanes *operand = lanes.operands[index];
    bool isShared = operand->kind == Lanes::Kind::shared;
    operands[place] = build(operand);
    made += isShared ? "" : "e";
    made += operand->lead > 0 ? letters.tokens : "";
    for (char letter : terms[index].drop_front(operand->lead))
      made +=
          letters.get(letter, spec.result.contains(letter) ? "nopq" : "klj");
    made += place == 0 ? "," : "->";
  }
  made += "e" + letters.tokens;
  for (char letter : spec.result.drop_front(lanes.lead))
    made += letters.get(letter, "nopq");
  rewriter.setOrigin(product);
  return rewriter.create<MatmulOp>(operands[0], operands[1], made,
                                   rows.findRows(made, letters.tokens));
}

} // namespace parplan::simplify
