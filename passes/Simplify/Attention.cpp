//===- Attention.cpp - Raises attention -----------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/AttentionScores.h"
#include "passes/Simplify/Layout.h"
#include "passes/Simplify/Matching.h"

using namespace mlir;

namespace parplan::simplify {

//===----------------------------------------------------------------------===//
// Repeated heads
//===----------------------------------------------------------------------===//

/// The atoms of the heads without the repetition at their minor end, and how
/// often they repeat.
static std::pair<Layout::Atoms, int64_t> dropRepetition(const Layout &layout,
                                                        ArrayRef<int> heads) {
  Layout::Atoms kept(heads);
  int64_t repeats = 1;
  while (!kept.empty() && layout.isRepeated(kept.back()))
    repeats *= layout.getSize(kept.pop_back_val());
  return {kept, repeats};
}

namespace {
/// Keys and values of an attention as rearrangements, with the dimensions of
/// [b, t, h, e] in `keyDims` and of [b, t, h, f] in `valueDims`.
struct KeysAndValues {
  Layout key, value;
  Layout::Dims keyDims, valueDims;

  /// Keeps one of every group of equal heads; true if there are any.
  bool dropRepeatedHeads() {
    auto [keyHeads, keyRepeats] = dropRepetition(key, keyDims[2]);
    auto [valueHeads, valueRepeats] = dropRepetition(value, valueDims[2]);
    if (keyRepeats != valueRepeats || keyRepeats == 1)
      return false;
    keyDims[2] = keyHeads;
    valueDims[2] = valueHeads;
    return true;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// softmax(q k + mask) v
//===----------------------------------------------------------------------===//

namespace {
/// Which letters of the two products are which dimensions. `heads` is 0 where
/// there is one batch dimension only. Keys and values that all heads share have
/// no letter for them.
struct Letters {
  char batch = 0, heads = 0, queries = 0, keys = 0, inner = 0, outer = 0;
};
} // namespace

static size_t indexOf(StringRef letters, char letter) {
  return letters.find(letter);
}

/// Reads the spec of the scores, whose result is [b, h, s, t] or [b, s, t].
static std::optional<Letters> readScoreLetters(const MatmulSpec &spec,
                                               int query) {
  StringRef queryLetters = query == 0 ? spec.lhs : spec.rhs;
  StringRef keyLetters = query == 0 ? spec.rhs : spec.lhs;
  StringRef result = spec.result;
  size_t rank = result.size();
  if (rank < 3 || rank > 4 || queryLetters.size() != rank)
    return {};
  Letters letters;
  letters.keys = result[rank - 1];
  letters.queries = result[rank - 2];
  letters.batch = result[0];
  letters.heads = rank == 4 ? result[1] : 0;
  bool fits = queryLetters.contains(letters.queries) &&
              !queryLetters.contains(letters.keys) &&
              keyLetters.contains(letters.keys) &&
              !keyLetters.contains(letters.queries);
  for (char letter : result.drop_back(2))
    fits &= queryLetters.contains(letter) &&
            (keyLetters.contains(letter) || letter == letters.heads);
  bool isShared = letters.heads && !keyLetters.contains(letters.heads);
  fits &= keyLetters.size() == (isShared ? rank - 1 : rank);
  for (char letter : queryLetters)
    if (!result.contains(letter))
      letters.inner = letter;
  return fits && letters.inner ? std::optional(letters) : std::nullopt;
}

/// Dimensions [b, s, h, e] of an operand with these letters; no atoms for heads
/// that are not there, or that the operand does not tell apart.
static Layout::Dims arrange(const Layout &layout, StringRef letters,
                            ArrayRef<char> order) {
  Layout::Dims dims;
  for (char letter : order)
    dims.push_back(letter && letters.contains(letter)
                       ? layout.getDims()[indexOf(letters, letter)]
                       : Layout::Atoms());
  return dims;
}

namespace {
/// Everything that a new attention needs.
struct AttentionParts {
  Value query, key, value;
  double scale;
  bool zeroMaskedRows;
  Value sink;
  /// Masks are over [b, s, t] instead of [b, h, s, t].
  bool isSingleHead = false;
};
} // namespace

static Value createAttention(const AttentionParts &parts, const Masks &masks,
                             Rewriter &rewriter) {
  OpBuilder &builder = rewriter.builder;
  Value mask = masks.build(getElementType(parts.query), rewriter);
  // Over [b, s, t]: the only head has no dimension of its own.
  if (parts.isSingleHead && mask && getShape(mask).size() == 3) {
    ArrayRef<int64_t> shape = getShape(mask);
    mask = rewriter.reshape(mask, {shape[0], 1, shape[1], shape[2]});
  }
  Value offset;
  if (masks.isCausal() && masks.getOffset() != 0)
    offset = rewriter.create<ConstantOp>(cast<ElementsAttr>(Attribute(
        DenseElementsAttr::get(RankedTensorType::get({}, builder.getI64Type()),
                               builder.getI64IntegerAttr(masks.getOffset())))));
  // Without another mask every query sees key 0.
  bool hasMaskedRows = mask || (masks.isCausal() && masks.getOffset() < 0);
  rewriter.setOnnxOp("Attention");
  return rewriter.create<AttentionOp>(
      parts.query, parts.key, parts.value, mask, offset, parts.sink,
      llvm::APFloat(parts.scale), masks.isCausal(),
      parts.zeroMaskedRows && hasMaskedRows);
}

Value raiseAttention(Operation *op, Rewriter &rewriter) {
  auto product = cast<MatmulOp>(op);
  if (product.getExperts())
    return {};
  MatmulSpec outer = *MatmulSpec::parse(product.getSpec());
  for (int position : {0, 1}) {
    std::optional<Weights> weights = matchWeights(op->getOperand(position));
    if (!weights)
      continue;
    ArrayRef<int64_t> scoreShape = getShape(weights->scores);
    size_t rank = scoreShape.size();
    if (rank < 3 || weights->softmax.getDim() != rank - 1)
      continue;
    std::optional<Scores> scores =
        matchScores(weights->scores,
                    Scores{{},
                           1,
                           Masks(scoreShape[rank - 2], scoreShape[rank - 1],
                                 bool(weights->sink))});
    if (!scores)
      continue;
    MatmulSpec inner = *MatmulSpec::parse(scores->product.getSpec());
    int queryOperand = inner.lhs.contains(inner.result[rank - 2]) ? 0 : 1;
    std::optional<Letters> letters = readScoreLetters(inner, queryOperand);
    if (!letters)
      continue;

    // The second product: weights [b, h, s, t] by values.
    StringRef weightLetters = position == 0 ? outer.lhs : outer.rhs;
    StringRef valueLetters = position == 0 ? outer.rhs : outer.lhs;
    char outBatch = weightLetters[0];
    char outHeads = rank == 4 ? weightLetters[1] : 0;
    char outQueries = weightLetters[rank - 2],
         outKeys = weightLetters[rank - 1];
    char outFeatures = 0;
    for (char letter : valueLetters)
      if (!weightLetters.contains(letter))
        outFeatures = letter;
    StringRef queryLetters = queryOperand == 0 ? inner.lhs : inner.rhs;
    StringRef keyLetters = queryOperand == 0 ? inner.rhs : inner.lhs;
    bool isShared = outHeads && !valueLetters.contains(outHeads);
    bool fits =
        valueLetters.size() == (isShared ? rank - 1 : rank) &&
        keyLetters.size() == valueLetters.size() &&
        outer.result.size() == rank && outFeatures &&
        outer.result.contains(outFeatures) && valueLetters.contains(outKeys) &&
        !outer.result.contains(outKeys) && !valueLetters.contains(outQueries) &&
        valueLetters.contains(outBatch) && outer.result.contains(outQueries);
    if (!fits)
      continue;

    double scale = scores->scale;
    Layout query =
        Layout::trace(scores->product->getOperand(queryOperand), &scale);
    KeysAndValues stored{
        Layout::trace(scores->product->getOperand(1 - queryOperand), &scale),
        Layout::trace(op->getOperand(1 - position)),
        {},
        {}};
    Layout::Dims queryDims = arrange(
        query, queryLetters,
        {letters->batch, letters->queries, letters->heads, letters->inner});
    stored.keyDims = arrange(
        stored.key, keyLetters,
        {letters->batch, letters->keys, letters->heads, letters->inner});
    stored.valueDims = arrange(stored.value, valueLetters,
                               {outBatch, outKeys, outHeads, outFeatures});
    stored.dropRepeatedHeads();
    AttentionParts parts{query.build(queryDims, rewriter),
                         stored.key.build(stored.keyDims, rewriter),
                         stored.value.build(stored.valueDims, rewriter),
                         scale,
                         weights->isGuarded,
                         weights->sink
                             ? rewriter.reshape(weights->sink, scoreShape[1])
                             : Value(),
                         /*isSingleHead=*/rank == 3};
    Value attention = createAttention(parts, scores->masks, rewriter);

    // From [b, s, h, f] to the dimensions of the product.
    char made[] = {outBatch, outQueries, outHeads, outFeatures};
    if (rank == 3) {
      ArrayRef<int64_t> shape = getShape(attention);
      attention = rewriter.reshape(attention, {shape[0], shape[1], shape[3]});
      made[2] = outFeatures;
    }
    SmallVector<int64_t> permutation;
    for (char letter : outer.result)
      permutation.push_back(indexOf(StringRef(made, rank), letter));
    return rewriter.transpose(attention, permutation);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Attention that is one op already
//===----------------------------------------------------------------------===//

/// Scales of queries and keys, repeated heads and masks that are diagonals.
Value simplifyAttention(Operation *op, Rewriter &rewriter) {
  auto attention = cast<AttentionOp>(op);
  double factor = 1;
  Layout query = Layout::trace(attention.getQuery(), &factor);
  KeysAndValues stored{Layout::trace(attention.getKey(), &factor),
                       Layout::trace(attention.getValue()),
                       {},
                       {}};
  stored.keyDims = stored.key.getDims();
  stored.valueDims = stored.value.getDims();
  bool isChanged = factor != 1;
  isChanged |= stored.dropRepeatedHeads();

  Masks masks(getShape(attention.getQuery())[1],
              getShape(attention.getKey())[1], bool(attention.getSink()));
  bool mayReadMask = attention.getMask() && !attention.getQueryOffset();
  if (mayReadMask) {
    if (getElementType(attention.getMask()).isInteger(1))
      masks.addCondition(attention.getMask());
    else
      masks.addTerm(attention.getMask());
    mayReadMask = masks.resolve();
  }
  bool becomesCausal = masks.isCausal();
  if (attention.getCausal() && !attention.getQueryOffset())
    masks.addDiagonal(0);
  Value mask = attention.getMask();
  // Masks that neither vanish nor become causal stay as they are.
  bool readsMask = mayReadMask &&
                   (becomesCausal ||
                    (!masks.hasTerms() &&
                     !masks.build(getElementType(query.getRoot()), rewriter)));
  if (!isChanged && !readsMask)
    return {};
  AttentionParts parts{query.build(query.getDims(), rewriter),
                       stored.key.build(stored.keyDims, rewriter),
                       stored.value.build(stored.valueDims, rewriter),
                       attention.getScale().convertToDouble() * factor,
                       attention.getZeroMaskedRows(),
                       attention.getSink()};
  if (readsMask)
    return createAttention(parts, masks, rewriter);
  return rewriter.create<AttentionOp>(
      parts.query, parts.key, parts.value, mask, attention.getQueryOffset(),
      parts.sink, llvm::APFloat(parts.scale), attention.getCausal(),
      parts.zeroMaskedRows);
}

} // namespace parplan::simplify
