//===- ExpertRouting.cpp - Where gates send tokens ------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/ExpertGates.h"
#include "passes/Simplify/ExpertParts.h"

#include "parplan/Support/Sizes.h"

using namespace mlir;

namespace parplan::simplify {

/// `value` as [*t, k], where dimension `dim` of it numbers the k, or the last.
static Value toChoices(Value value, int64_t dim, ArrayRef<int64_t> shape,
                       Rewriter &rewriter) {
  ArrayRef<int64_t> own = getShape(value);
  if (dim >= 0 && !isLast(own, dim)) {
    SmallVector<int64_t> permutation;
    for (int64_t other = 0; other < static_cast<int64_t>(own.size()); ++other)
      if (other != dim)
        permutation.push_back(other);
    permutation.push_back(dim);
    if (auto transpose = value.getDefiningOp<TransposeOp>()) {
      for (int64_t &other : permutation)
        other = transpose.getPermutation()[other];
      value = transpose.getInput();
    }
    // Dimensions of one element may stand anywhere.
    SmallVector<int64_t> moved;
    llvm::copy_if(permutation, std::back_inserter(moved),
                  [&](int64_t other) { return getShape(value)[other] != 1; });
    if (!llvm::is_sorted(moved))
      value = rewriter.transpose(value, permutation);
  }
  return toShape(value, shape, rewriter);
}

/// `value` with elements of another type.
static Value toElement(Value value, Type element, Rewriter &rewriter) {
  if (getElementType(value) == element)
    return value;
  return rewriter.create<CastOp>(
      cast<RankedTensorType>(value.getType()).clone(element), value);
}

ExpertRouting buildRouting(ArrayRef<Gate> gates, int64_t tokens, Type element,
                           Rewriter &rewriter) {
  ExpertRouting routing;
  // Tokens have the dimensions that the router gives them.
  Value router = gates[0].choices ? gates[0].choices : gates[0].weights[0];
  for (Value root = router;; root = root.getDefiningOp()->getOperand(0)) {
    ArrayRef<int64_t> shape = getShape(root);
    if (multiplySizes(shape.drop_back()) == tokens)
      routing.tokens.assign(shape.begin(), shape.end() - 1);
    if (!root.getDefiningOp<ReshapeOp>())
      break;
  }
  if (routing.tokens.empty())
    routing.tokens.push_back(tokens);

  SmallVector<Value> experts, weights;
  for (const Gate &gate : gates) {
    SmallVector<int64_t> shape(routing.tokens);
    Value sized = gate.choices ? gate.choices : gate.weights[0];
    shape.push_back(multiplySizes(getShape(sized)) / tokens);
    if (gate.choices) {
      experts.push_back(
          toChoices(gate.choices, gate.choiceDim, shape, rewriter));
    } else {
      auto type = RankedTensorType::get(
          shape, IntegerType::get(rewriter.builder.getContext(), 64));
      experts.push_back(rewriter.create<IotaOp>(
          type, static_cast<int64_t>(shape.size()) - 1));
    }
    Value product;
    auto multiply = [&](Value factor) {
      if (product)
        factor = toElement(factor, getElementType(product), rewriter);
      product = product ? rewriter.create<MulOp>(product, factor) : factor;
    };
    for (Value factor : gate.weights)
      multiply(toChoices(factor, gate.dim, shape, rewriter));
    SmallVector<int64_t> single(routing.tokens);
    single.push_back(1);
    for (Value factor : gate.scales)
      multiply(toShape(factor, single, rewriter));
    if (!product)
      product = rewriter.ones(RankedTensorType::get(shape, element));
    if (getShape(product) != ArrayRef(shape))
      product = rewriter.create<BroadcastOp>(
          RankedTensorType::get(shape, getElementType(product)), product);
    weights.push_back(toElement(product, element, rewriter));
  }
  auto join = [&](ArrayRef<Value> parts) -> Value {
    if (parts.size() == 1)
      return parts[0];
    SmallVector<int64_t> shape(routing.tokens);
    shape.push_back(0);
    for (Value part : parts)
      shape.back() += getShape(part).back();
    return rewriter.create<ConcatOp>(
        RankedTensorType::get(shape, getElementType(parts[0])), parts,
        static_cast<int64_t>(shape.size()) - 1);
  };
  routing.experts = join(experts);
  routing.weights = join(weights);
  return routing;
}

} // namespace parplan::simplify
