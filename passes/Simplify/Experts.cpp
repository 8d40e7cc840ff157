//===- Experts.cpp - Raises a mixture of experts --------------------------===//
//
// Part of parplan.
//
// Exported models pick the weights of k experts per token, multiply every token
// by them, and sum over the k:
//
//   %values, %indices = topk (router scores)                     [t, k]
//   %w = gather %weights, reshape %indices                       [t k, n, d]
//   %x = reshape (broadcast %tokens)                             [t k, d]
//   %y = matmul "bnd,bd->bn" %w, %x                              [t k, n]
//   reduce sum of reshape (mul %y, %values) over k               [t, n]
//
// That copies whole weights, and no rank can hold only some experts. What has a
// value per choice, [t k, ..], becomes here what has one per expert and token,
// [e, t, ..]: tokens are dispatched, picked weights are the weights as they
// are, products have the experts as batch, and the sum is a combine. Only rows
// of experts that a token has are ever read.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/ExpertLetters.h"
#include "passes/Simplify/ExpertParts.h"
#include "passes/Simplify/ExpertRows.h"

#include "parplan/Support/Sizes.h"

using namespace mlir;

namespace parplan::simplify {

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

namespace {

/// Builds the values per expert of the parts that a match has found.
class ExpertBuilder {
public:
  ExpertBuilder(const Routing &found, Rewriter &rewriter)
      : routing(found), rewriter(rewriter),
        rows(toShape(routing.chosen, getChoiceShape()), routing.experts,
             rewriter) {}

  /// The sum over the choices of `values`, times `weights` if there are any.
  Value combine(Part *values, Value weights, Operation *origin) {
    Value answers = build(values);
    SmallVector<int64_t> shape = getShapeOf(*values);
    shape.truncate(1 + routing.tokens.size());
    shape.push_back(multiplySizes(values->rest));
    answers = toShape(answers, shape);
    rewriter.setOrigin(origin);
    if (weights)
      weights = toShape(weights, getChoiceShape());
    else if (!routing.areDistinct)
      weights = rewriter.ones(
          RankedTensorType::get(getChoiceShape(), getElementType(answers)));
    rewriter.setOnnxOp("MoE");
    return rewriter.create<MoeCombineOp>(answers, rows.getExperts(), weights,
                                         /*first_expert=*/Value(),
                                         /*groups=*/DenseI64ArrayAttr());
  }

private:
  SmallVector<int64_t> getChoiceShape() const {
    SmallVector<int64_t> shape(routing.tokens);
    shape.push_back(routing.choices);
    return shape;
  }

  /// [e, *t, rest..], or [e, rest..] of what is the same for all tokens.
  SmallVector<int64_t> getShapeOf(const Part &part) const {
    SmallVector<int64_t> shape{routing.experts};
    if (part.hasTokens)
      shape.append(routing.tokens);
    shape.append(part.rest);
    return shape;
  }

  Value toShape(Value value, ArrayRef<int64_t> shape) {
    return simplify::toShape(value, shape, rewriter);
  }

  Value build(Part *part) {
    Value &value = built[part];
    if (!value) {
      Value made = buildNew(*part);
      // Building parts may have moved the entry.
      return built[part] = made;
    }
    return value;
  }

  Value buildNew(const Part &part) {
    switch (part.kind) {
    case Part::Kind::tokens:
      return toShape(dispatch(buildTokens(part)), getShapeOf(part));
    case Part::Kind::weights:
      return toShape(dispatch(rows.buildOnes(getElementType(part.value)),
                              toShape(part.value, getChoiceShape())),
                     getShapeOf(part));
    case Part::Kind::experts:
      return toShape(part.table, getShapeOf(part));
    case Part::Kind::shared: {
      ArrayRef<int64_t> shape = getShape(part.value);
      return shape.size() <= part.rest.size()
                 ? part.value
                 : toShape(part.value, shape.take_back(part.rest.size()));
    }
    case Part::Kind::op:
      break;
    }
    Operation *op = part.value.getDefiningOp();
    rewriter.setOrigin(op);
    if (isa<ReshapeOp>(op))
      return toShape(build(part.operands[0]), getShapeOf(part));
    if (auto product = dyn_cast<MatmulOp>(op))
      return buildProduct(part, product);
    if (auto slice = dyn_cast<SliceOp>(op))
      return buildSlice(part, slice);
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return buildTranspose(part, transpose);
    return buildElementwise(part, op);
  }

  //===--------------------------------------------------------------------===//
  // Leaves
  //===--------------------------------------------------------------------===//

  /// [*t, d] of a value that repeats tokens, with all other dimensions in d.
  Value buildTokens(const Part &part) {
    Layout::Dims dims(
        ArrayRef(part.layout->getRootDims()).take_front(part.tokenDims));
    Layout::Atoms &width = dims.emplace_back();
    size_t first = part.layout->getDims().size() - part.rest.size();
    for (const Layout::Atoms &atoms :
         ArrayRef(part.layout->getDims()).drop_front(first))
      width.append(atoms);
    SmallVector<int64_t> shape(routing.tokens);
    shape.push_back(multiplySizes(part.rest));
    return toShape(part.layout->build(dims, rewriter), shape);
  }

  Value dispatch(Value tokens, Value weights = {}) {
    rewriter.setOrigin(routing.gather);
    return rows.dispatch(tokens, weights);
  }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  /// How many dimensions stand before the rest of a part.
  int64_t countPrefix(const Part &part) const {
    return 1 + (part.hasTokens ? routing.tokens.size() : 0);
  }

  Value buildElementwise(const Part &part, Operation *op) {
    SmallVector<Value> operands;
    for (Part *operand : part.operands) {
      Value value = build(operand);
      rewriter.setOrigin(op);
      // The weights of an expert are the same for all tokens.
      if (operand->kind != Part::Kind::shared && !operand->hasTokens &&
          part.hasTokens)
        value = rows.spreadOverRows(value, operand->rest);
      operands.push_back(value);
    }
    return rewriter
        .cloneWith(
            op, operands,
            RankedTensorType::get(getShapeOf(part), getElementType(part.value)))
        ->getResult(0);
  }

  Value buildSlice(const Part &part, SliceOp slice) {
    SmallVector<int64_t> dims;
    int64_t shift = countPrefix(part) - static_cast<int64_t>(part.lead);
    for (int64_t dim : slice.getDims())
      dims.push_back(dim + shift);
    return rewriter.create<SliceOp>(build(part.operands[0]), dims,
                                    slice.getStarts(), slice.getLimits(),
                                    slice.getSteps());
  }

  Value buildTranspose(const Part &part, TransposeOp transpose) {
    int64_t prefix = countPrefix(part);
    SmallVector<int64_t> permutation =
        llvm::to_vector(llvm::seq<int64_t>(0, prefix));
    for (int64_t dim : transpose.getPermutation().drop_front(part.lead))
      permutation.push_back(dim + prefix - static_cast<int64_t>(part.lead));
    return rewriter.transpose(build(part.operands[0]), permutation);
  }

  Value buildProduct(const Part &part, MatmulOp product);

  Routing routing;
  Rewriter &rewriter;
  RowBuilder rows;
  llvm::DenseMap<Part *, Value> built;
};

} // namespace

Value ExpertBuilder::buildProduct(const Part &part, MatmulOp product) {
  MatmulSpec spec = *MatmulSpec::parse(product.getSpec());
  StringRef terms[2] = {spec.lhs, spec.rhs};
  StringRef lead = spec.result.take_front(part.lead);
  // Tokens first, as products of other layers have them.
  int order[2] = {0, 1};
  if (!part.operands[0]->hasTokens && part.operands[1]->hasTokens)
    std::swap(order[0], order[1]);

  ExpertLetters letters(routing.tokens.size());
  Value operands[2];
  std::string made;
  std::string dropped;
  for (int index : order) {
    Part *operand = part.operands[index];
    bool isShared = operand->kind == Part::Kind::shared;
    std::string term = isShared ? "" : "e";
    SmallVector<int64_t> shape;
    if (!isShared) {
      shape = getShapeOf(*operand);
      shape.truncate(countPrefix(*operand));
      if (operand->hasTokens)
        term += letters.tokens;
    }
    ArrayRef<int64_t> sizes = getShape(operand->value);
    for (auto [dim, letter] : llvm::enumerate(terms[index])) {
      if (lead.contains(letter))
        continue;
      // Exports multiply by columns of one element.
      bool isSummed = !spec.result.contains(letter);
      if (sizes[dim] == 1 && !isSummed && !terms[1 - index].contains(letter)) {
        dropped += letter;
        continue;
      }
      term += letters.get(letter, isSummed ? "klj" : "nopq");
      shape.push_back(sizes[dim]);
    }
    operands[made.empty() ? 0 : 1] = toShape(build(operand), shape);
    made += made.empty() ? term + "," : term + "->";
  }
  made += "e";
  if (part.hasTokens)
    made += letters.tokens;
  for (char letter : spec.result.drop_front(part.lead))
    if (dropped.find(letter) == std::string::npos)
      made += letters.get(letter, "nopq");
  rewriter.setOrigin(product);
  auto result = rewriter.create<MatmulOp>(operands[0], operands[1], made,
                                          rows.findRows(made, letters.tokens));
  // Its dimensions have their names.
  rewriter.skip(result);
  return toShape(result, getShapeOf(part));
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// True for a value of one number per choice, also where it is repeated.
static bool isPerChoice(Value value, ArrayRef<int64_t> lead) {
  ArrayRef<int64_t> shape = getShape(value);
  return shape.size() >= lead.size() && shape.take_front(lead.size()) == lead &&
         multiplySizes(shape.drop_front(lead.size())) == 1;
}

Value raiseExperts(Operation *op, Rewriter &rewriter) {
  auto sum = cast<ReduceOp>(op);
  ArrayRef<int64_t> shape = getShape(sum.getInput());
  if (sum.getKind() != ReduceKind::sum || sum.getDims().size() != 1 ||
      sum.getDims()[0] == 0 || !isa<FloatType>(getElementType(sum.getInput())))
    return {};
  size_t lead = sum.getDims()[0] + 1;
  int64_t rows = multiplySizes(shape.take_front(lead));
  ExpertMatcher matcher(rows, shape[lead - 1]);
  // Weights that every answer is multiplied by belong to the sum.
  Value value = sum.getInput(), weights;
  while (Operation *next = value.getDefiningOp()) {
    if (isa<ReshapeOp>(next)) {
      std::optional<size_t> inner =
          countLeadingDims(getShape(next->getOperand(0)), rows);
      if (!inner)
        break;
      lead = *inner;
      value = next->getOperand(0);
      continue;
    }
    if (weights || !isa<MulOp>(next))
      break;
    ArrayRef<int64_t> choices = getShape(value).take_front(lead);
    for (int index : {0, 1}) {
      Value factor = next->getOperand(index);
      if (auto broadcast = factor.getDefiningOp<BroadcastOp>())
        factor = broadcast.getInput();
      if (!weights && isPerChoice(factor, choices) &&
          next->getOperand(1 - index).getType() == value.getType()) {
        weights = factor;
        value = next->getOperand(1 - index);
      }
    }
    if (!weights)
      break;
  }
  Part *values = matcher.matchAnswers(value, lead);
  if (!values || !values->hasExperts || !values->hasTokens)
    return {};
  ExpertBuilder builder(matcher.getRouting(), rewriter);
  return rewriter.reshape(builder.combine(values, weights, op), getShape(sum));
}

bool unflattenChoice(Operation *op, Rewriter &rewriter) {
  auto choice = cast<TopKOp>(op);
  std::optional<Flattening> flattening = matchFlattening(choice.getInput());
  if (!flattening || choice.getDim() == 0)
    return false;
  int64_t shift = static_cast<int64_t>(flattening->getPrefix().size()) - 1;
  auto spread = rewriter.create<TopKOp>(
      flattening->input, choice.getK(),
      static_cast<int64_t>(choice.getDim()) + shift, choice.getLargest());
  for (auto [from, to] :
       llvm::zip_equal(choice->getResults(), spread->getResults()))
    from.replaceAllUsesWith(rewriter.reshape(to, getShape(from)));
  return true;
}

} // namespace parplan::simplify
