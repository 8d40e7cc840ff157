//===- RotaryEmbedding.cpp - Raises rotary embeddings ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Layout.h"
#include "passes/Simplify/Matching.h"

using namespace mlir;

namespace parplan::simplify {

/// x of slice(x) that is [start, limit) of the last dimension, or null.
static Value matchLastSlice(Value value, bool isUpper) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice || slice.getDims().size() != 1 || slice.getSteps()[0] != 1)
    return {};
  ArrayRef<int64_t> shape = getShape(slice.getInput());
  int64_t size = shape.back(), half = size / 2;
  bool isLast = slice.getDims()[0] == static_cast<int64_t>(shape.size()) - 1;
  bool isHalf = slice.getStarts()[0] == (isUpper ? half : 0) &&
                slice.getLimits()[0] == (isUpper ? size : half);
  return isLast && size % 2 == 0 && isHalf ? slice.getInput() : Value();
}

/// The operands of a concatenation of two along the last dimension.
static std::optional<std::pair<Value, Value>> matchLastConcat(Value value) {
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat || concat.getInputs().size() != 2 ||
      concat.getDim() + 1 != getShape(value).size())
    return {};
  return std::make_pair(concat.getInputs()[0], concat.getInputs()[1]);
}

/// x of concat(-x[half..], x[..half]), or null.
static Value matchHalfTurn(Value value) {
  auto parts = matchLastConcat(value);
  auto negated = parts ? parts->first.getDefiningOp<NegOp>() : NegOp();
  Value upper = negated ? matchLastSlice(negated.getInput(), true) : Value();
  return upper && matchLastSlice(parts->second, false) == upper ? upper
                                                                : Value();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> halveLast(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> halved(shape);
  halved.back() /= 2;
  return halved;
}

/// The lower half of a constant whose halves along the last dimension agree.
static Attribute halveConstant(ElementsAttr attribute) {
  auto elements = dyn_cast<DenseElementsAttr>(attribute);
  if (!elements)
    return {};
  ArrayRef<int64_t> shape = elements.getType().getShape();
  auto type =
      RankedTensorType::get(halveLast(shape), elements.getElementType());
  if (elements.isSplat())
    return elements.resizeSplat(type);
  int64_t width = shape.back(), half = width / 2;
  auto values = elements.getValues<Attribute>();
  SmallVector<Attribute> kept;
  for (int64_t index = 0, count = elements.size(); index < count; ++index) {
    if (index % width >= half)
      continue;
    if (values[index] != values[index + half])
      return {};
    kept.push_back(values[index]);
  }
  return DenseElementsAttr::get(type, kept);
}

/// The lower half of a table [.., e] whose halves are equal: cos and sin of
/// concat(f, f), possibly scaled and reshaped.
static Value findHalf(Value table, Rewriter &rewriter) {
  Operation *op = table.getDefiningOp();
  ArrayRef<int64_t> shape = getShape(table);
  if (!op || shape.empty() || shape.back() % 2 != 0)
    return {};
  if (auto parts = matchLastConcat(table))
    return parts->first == parts->second ? parts->first : Value();
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto half =
        dyn_cast_or_null<ElementsAttr>(halveConstant(constant.getValue()));
    return half ? rewriter.shared(
                      table, "half",
                      [&] { return rewriter.create<ConstantOp>(half); })
                : Value();
  }
  auto build = [&](Value inner, auto create) -> Value {
    Value half = findHalf(inner, rewriter);
    return half ? rewriter.shared(table, "half", [&] { return create(half); })
                : Value();
  };
  if (isa<CosOp, SinOp, CastOp>(op))
    return build(op->getOperand(0), [&](Value half) {
      Operation *copy = rewriter.cloneWith(
          op, half,
          RankedTensorType::get(getShape(half), getElementType(table)));
      return copy->getResult(0);
    });
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    if (getShape(reshape.getInput()).empty() ||
        getShape(reshape.getInput()).back() != shape.back())
      return {};
    return build(reshape.getInput(), [&](Value half) {
      return rewriter.reshape(half, halveLast(shape));
    });
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return getShape(broadcast.getInput()).back() == shape.back()
               ? findHalf(broadcast.getInput(), rewriter)
               : Value();
  if (isa<MulOp>(op)) {
    Scaled scaled = matchScaled(table);
    if (scaled.base == table)
      return {};
    return build(scaled.base, [&](Value half) -> Value {
      auto number = DenseElementsAttr::get(
          RankedTensorType::get({}, getElementType(table)),
          rewriter.builder.getFloatAttr(getElementType(table), scaled.factor));
      Value factor = rewriter.create<ConstantOp>(cast<ElementsAttr>(number));
      return rewriter.create<MulOp>(half, factor);
    });
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Tables broadcast to the input, never the other way round.
static Value createRope(Value input, Value cos, Value sin, Rewriter &rewriter) {
  ArrayRef<int64_t> shape = getShape(input);
  for (Value table : {cos, sin}) {
    ArrayRef<int64_t> own = getShape(table);
    if (own.empty() || own.size() > shape.size() ||
        own.back() * 2 != shape.back())
      return {};
    for (auto [size, wanted] : llvm::zip(
             own.drop_back(), shape.drop_back().take_back(own.size() - 1)))
      if (size != 1 && size != wanted)
        return {};
  }
  rewriter.setOnnxOp("RotaryEmbedding");
  return rewriter.create<RopeOp>(input, cos, sin, /*interleaved=*/false);
}

/// x * cos + concat(-x[half..], x[..half]) * sin
Value raiseRotation(Operation *op, Rewriter &rewriter) {
  for (int position : {0, 1}) {
    auto turned = op->getOperand(position).getDefiningOp<MulOp>();
    auto straight = op->getOperand(1 - position).getDefiningOp<MulOp>();
    if (!turned || !straight)
      continue;
    for (Value rotation : turned->getOperands()) {
      Value input = matchHalfTurn(rotation);
      Value sin = getOther(turned, rotation);
      Value cos = input ? getOther(straight, input) : Value();
      if (!cos)
        continue;
      Value halfCos = findHalf(cos, rewriter);
      Value halfSin = halfCos ? findHalf(sin, rewriter) : Value();
      if (!halfSin)
        continue;
      if (Value rope = createRope(input, halfCos, halfSin, rewriter))
        return rope;
    }
  }
  return {};
}

/// concat(x1 cos - x2 sin, x2 cos + x1 sin) of the halves x1, x2
Value raiseRotationOfHalves(Operation *op, Rewriter &rewriter) {
  auto parts = matchLastConcat(op->getResult(0));
  auto first = parts ? parts->first.getDefiningOp<SubOp>() : SubOp();
  auto second = parts ? parts->second.getDefiningOp<AddOp>() : AddOp();
  if (!first || !second)
    return {};
  auto straight = first.getLhs().getDefiningOp<MulOp>();
  auto turned = first.getRhs().getDefiningOp<MulOp>();
  if (!straight || !turned)
    return {};
  for (Value low : straight->getOperands()) {
    Value input = matchLastSlice(low, /*isUpper=*/false);
    Value cos = getOther(straight, low);
    if (!input)
      continue;
    for (Value high : turned->getOperands()) {
      if (matchLastSlice(high, /*isUpper=*/true) != input)
        continue;
      Value sin = getOther(turned, high);
      auto isProduct = [&](Value value, Value left, Value right) {
        auto mul = value.getDefiningOp<MulOp>();
        return mul && getOther(mul, left) == right;
      };
      bool matches = (isProduct(second.getLhs(), high, cos) &&
                      isProduct(second.getRhs(), low, sin)) ||
                     (isProduct(second.getRhs(), high, cos) &&
                      isProduct(second.getLhs(), low, sin));
      if (!matches)
        continue;
      if (Value rope = createRope(input, cos, sin, rewriter))
        return rope;
    }
  }
  return {};
}

/// The table with as many dimensions as the input, permuted as the input is.
static Value permuteTable(Value table, ArrayRef<int64_t> permutation,
                          Rewriter &rewriter) {
  std::string key = "permuted";
  for (int64_t dim : permutation)
    key += std::to_string(dim);
  return rewriter.shared(table, key, [&]() -> Value {
    SmallVector<int64_t> shape(permutation.size() - getShape(table).size(), 1);
    llvm::append_range(shape, getShape(table));
    Value whole = rewriter.reshape(table, shape);
    // Dimensions of size 1 may move freely.
    SmallVector<int64_t> order, permuted;
    for (int64_t dim : permutation) {
      permuted.push_back(shape[dim]);
      if (shape[dim] != 1)
        order.push_back(dim);
    }
    return llvm::is_sorted(order) ? rewriter.reshape(table, permuted)
                                  : rewriter.transpose(whole, permutation);
  });
}

/// rope(transpose(x)) = transpose(rope(x)), where the last dimension stays: the
/// transposition then meets that of attention.
Value hoistTransposeOverRope(Operation *op, Rewriter &rewriter) {
  auto rope = cast<RopeOp>(op);
  auto transpose = rope.getInput().getDefiningOp<TransposeOp>();
  if (!transpose)
    return {};
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  if (permutation.back() != static_cast<int64_t>(permutation.size()) - 1)
    return {};
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [dim, from] : llvm::enumerate(permutation))
    inverse[from] = static_cast<int64_t>(dim);
  Value cos = permuteTable(rope.getCos(), inverse, rewriter);
  Value sin = permuteTable(rope.getSin(), inverse, rewriter);
  Value turned = rewriter.create<RopeOp>(transpose.getInput(), cos, sin,
                                         rope.getInterleaved());
  return rewriter.transpose(turned, permutation);
}

} // namespace parplan::simplify
