//===- ExpertGates.cpp - What the answer of an expert is worth ------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/ExpertGates.h"
#include "passes/Simplify/ExpertParts.h"

#include "parplan/Support/Sizes.h"

using namespace mlir;

namespace parplan::simplify {

static Value stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

/// The value before casts of floats that round it once, as a cast to its type
/// does; through reshapes too if `reshapes`.
static Value stripRounding(Value value, bool reshapes) {
  Type last = getElementType(value);
  auto roundsOnce = [&](CastOp cast) {
    Type type = getElementType(cast.getResult());
    return isa<FloatType>(type) &&
           isa<FloatType>(getElementType(cast.getInput())) &&
           (type == last ||
            type.getIntOrFloatBitWidth() > last.getIntOrFloatBitWidth());
  };
  while (Operation *op = value.getDefiningOp()) {
    auto cast = dyn_cast<CastOp>(op);
    if (!(cast && roundsOnce(cast)) && !(reshapes && isa<ReshapeOp>(op)))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// What a value of zeros and ones is made of, down to its condition; through
/// reshapes too if `reshapes`.
static Value stripNumbers(Value value, bool reshapes) {
  while (Operation *op = value.getDefiningOp()) {
    auto select = dyn_cast<SelectOp>(op);
    bool isNumber = select && getSplat(select.getOnTrue()) == 1.0 &&
                    getSplat(select.getOnFalse()) == 0.0 &&
                    getShape(select.getCondition()) == getShape(value);
    if (!isNumber && !isa<CastOp>(op) && !(reshapes && isa<ReshapeOp>(op)))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The condition that a value of zeros and ones stands for, or the value.
static Value stripCasts(Value value) {
  Value root = stripNumbers(value, /*reshapes=*/true);
  return getElementType(root).isInteger(1) ? root : value;
}

//===----------------------------------------------------------------------===//
// Which expert
//===----------------------------------------------------------------------===//

namespace {

/// A comparison of choices with the number of an expert.
struct Membership {
  Value choices;
  int64_t expert = 0;
  /// Where dimensions were transposed since: those of the choices, in order.
  SmallVector<int64_t> order = {};
};

/// One index of one dimension of a value.
struct Column {
  Value input;
  int64_t dim = 0, index = 0;
};

} // namespace

static std::optional<Column> matchColumn(Value value) {
  auto slice = stripRounding(value, /*reshapes=*/true).getDefiningOp<SliceOp>();
  if (!slice || slice.getDims().size() != 1)
    return std::nullopt;
  int64_t dim = slice.getDims()[0];
  if (getShape(slice)[dim] != 1)
    return std::nullopt;
  return Column{slice.getInput(), dim, slice.getStarts()[0]};
}

/// Entry `index` along `dim` of `value`, whose other dimensions, counted from
/// the right as those of `shape`, are 1.
static std::optional<int64_t> getEntry(Value value, ArrayRef<int64_t> shape,
                                       int64_t dim, int64_t index) {
  int64_t fromRight = static_cast<int64_t>(shape.size()) - dim;
  ArrayRef<int64_t> own = getShape(value);
  if (static_cast<int64_t>(own.size()) < fromRight ||
      multiplySizes(own) != shape[dim] ||
      own[own.size() - fromRight] != shape[dim])
    return std::nullopt;
  // Its numbers are those of all elements only where it has no other dimension.
  auto iota = stripReshapes(value).getDefiningOp<IotaOp>();
  if (iota && getShape(iota)[iota.getDim()] == shape[dim])
    return index;
  auto constant = stripReshapes(value).getDefiningOp<ConstantOp>();
  auto numbers = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                          : DenseElementsAttr();
  if (!numbers || !numbers.getElementType().isInteger())
    return std::nullopt;
  return (*(numbers.value_begin<APInt>() + index)).getSExtValue();
}

static CompareOp getEquality(Value value) {
  auto compare = stripCasts(value).getDefiningOp<CompareOp>();
  return compare && compare.getPredicate() == ComparePredicate::eq &&
                 getElementType(compare.getLhs()).isInteger()
             ? compare
             : CompareOp();
}

/// Column `index` along `dim` of the comparison of choices with all experts.
static std::optional<Membership> matchOneHot(CompareOp compare, int64_t dim,
                                             int64_t index) {
  ArrayRef<int64_t> shape = getShape(compare);
  for (Value numbers : {compare.getRhs(), compare.getLhs()}) {
    Value choices = getOther(compare, numbers);
    if (multiplySizes(getShape(choices)) * shape[dim] != multiplySizes(shape))
      continue;
    if (std::optional<int64_t> expert = getEntry(numbers, shape, dim, index))
      return Membership{choices, *expert};
  }
  return std::nullopt;
}

static std::optional<Membership> matchMembership(Value value) {
  if (CompareOp compare = getEquality(value)) {
    for (Value number : {compare.getRhs(), compare.getLhs()})
      if (std::optional<double> expert = getSplat(number))
        if (Value choices = getOther(compare, number);
            getShape(choices) == getShape(compare))
          return Membership{choices, static_cast<int64_t>(*expert)};
    return std::nullopt;
  }
  // Casts may stand before and behind the slice.
  std::optional<Column> column =
      matchColumn(stripNumbers(value, /*reshapes=*/true));
  if (!column)
    return std::nullopt;
  // Casts and transposes of the comparison with all experts.
  auto order =
      llvm::to_vector(llvm::seq<int64_t>(0, getShape(column->input).size()));
  Value root = column->input;
  while (auto transpose = (root = stripNumbers(root, /*reshapes=*/false))
                              .getDefiningOp<TransposeOp>()) {
    for (int64_t &dim : order)
      dim = transpose.getPermutation()[dim];
    root = transpose.getInput();
  }
  CompareOp compare = getEquality(root);
  if (!compare || compare != root.getDefiningOp())
    return std::nullopt;
  std::optional<Membership> found =
      matchOneHot(compare, order[column->dim], column->index);
  if (found && !llvm::is_sorted(order)) {
    order.erase(order.begin() + column->dim);
    found->order = order;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Sums over choices
//===----------------------------------------------------------------------===//

/// Factors of a product, conditions that choose between it and zero among them.
static void collectFactors(Value value, SmallVectorImpl<Value> &factors) {
  if (auto product = value.getDefiningOp<MulOp>()) {
    collectFactors(product.getLhs(), factors);
    collectFactors(product.getRhs(), factors);
    return;
  }
  auto select = value.getDefiningOp<SelectOp>();
  if (select && getSplat(select.getOnFalse()) == 0.0) {
    factors.push_back(select.getCondition());
    collectFactors(select.getOnTrue(), factors);
    return;
  }
  factors.push_back(value);
}

bool isLast(ArrayRef<int64_t> shape, int64_t dim) {
  return llvm::all_of(shape.drop_front(dim + 1),
                      [](int64_t size) { return size == 1; });
}

/// A sum over choices as a gate. `column`: of its result only this column is
/// wanted.
static bool matchSum(ReduceOp sum, std::optional<Column> column, Gate &gate,
                     int64_t &expert) {
  if (sum.getKind() != ReduceKind::sum || sum.getDims().size() != 1)
    return false;
  ArrayRef<int64_t> shape = getShape(sum.getInput());
  int64_t dim = sum.getDims()[0];
  int64_t wanted = 1;
  SmallVector<int64_t> expected(shape);
  if (column) {
    column->dim += !sum.getKeepDims() && column->dim >= dim;
    if (column->dim == dim)
      return false;
    wanted = expected[column->dim];
    expected[column->dim] = 1;
  }
  SmallVector<Value> factors;
  collectFactors(sum.getInput(), factors);
  std::optional<Membership> found;
  for (Value factor : factors) {
    std::optional<Membership> here;
    if (CompareOp compare = column ? getEquality(factor) : CompareOp()) {
      if (getShape(compare) == shape)
        here = matchOneHot(compare, column->dim, column->index);
    } else if (!column) {
      here = matchMembership(factor);
    }
    if (here && !found && getShape(factor) == shape) {
      found = here;
      continue;
    }
    // One number per choice, or per token, in the dimensions of the product.
    SmallVector<int64_t> perToken(expected);
    perToken[dim] = 1;
    if (getShape(factor) == ArrayRef(expected))
      gate.weights.push_back(factor);
    else if (getShape(factor) == ArrayRef(perToken))
      gate.scales.push_back(factor);
    else
      return false;
  }
  if (!found ||
      multiplySizes(getShape(found->choices)) * wanted != multiplySizes(shape))
    return false;
  gate.choices = found->choices;
  gate.dim = dim;
  expert = found->expert;
  if (!found->order.empty()) {
    SmallVector<int64_t> order = found->order;
    if (order.size() != expected.size())
      return false;
    gate.choiceDim = order[dim];
    order.erase(order.begin() + dim);
    return llvm::is_sorted(order);
  }
  if (isLast(expected, dim))
    return true;
  gate.choiceDim = dim;
  return getShape(gate.choices) == ArrayRef(expected);
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

static Value stripBroadcasts(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  return value;
}

/// The number of tokens, if `factor` has one number for each of them beside a
/// product of `shape`; 0 else.
static int64_t countTokens(Value factor, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> own = getShape(factor);
  size_t lead = own.size();
  while (lead > 0 && own[lead - 1] == 1)
    --lead;
  int64_t tokens = multiplySizes(own.take_front(lead));
  return own.size() == shape.size() && lead < shape.size() && tokens > 1 &&
                 own.take_front(lead) == shape.take_front(lead)
             ? tokens
             : 0;
}

/// The factor as the sum over choices that are the expert; false if it is none.
static bool matchChoices(Value factor, ExpertTerm &term) {
  if (std::optional<Membership> membership = matchMembership(factor)) {
    term.gate.choices = membership->choices;
    term.expert = membership->expert;
    if (term.repeats == 1)
      return llvm::is_sorted(membership->order);
    // The major dimension numbers the choices.
    ArrayRef<int64_t> order = membership->order;
    term.gate.choiceDim = order.empty() ? 0 : order[0];
    return order.empty() || llvm::is_sorted(order.drop_front());
  }
  if (term.repeats != 1)
    return false;
  if (auto sum =
          stripRounding(factor, /*reshapes=*/true).getDefiningOp<ReduceOp>())
    return matchSum(sum, std::nullopt, term.gate, term.expert);
  std::optional<Column> column = matchColumn(factor);
  auto sum = column ? stripRounding(column->input, /*reshapes=*/false)
                          .getDefiningOp<ReduceOp>()
                    : ReduceOp();
  return sum && matchSum(sum, column, term.gate, term.expert);
}

/// Weights whose major dimension numbers choices, read as they were before.
static bool addRepeatedWeights(Value weights, ExpertTerm &term) {
  int64_t dim = 0;
  if (auto transpose = weights.getDefiningOp<TransposeOp>()) {
    dim = transpose.getPermutation()[0];
    if (!llvm::is_sorted(transpose.getPermutation().drop_front()))
      return false;
    weights = transpose.getInput();
  }
  Gate &gate = term.gate;
  if (getShape(weights)[dim] != term.repeats ||
      (!gate.weights.empty() && gate.dim != dim))
    return false;
  gate.dim = dim;
  gate.weights.push_back(weights);
  return true;
}

static bool matchGate(ArrayRef<Value> factors, ExpertTerm &term) {
  const Value *found = llvm::find_if(factors, [&](Value factor) {
    ExpertTerm attempt = term;
    if (!matchChoices(factor, attempt))
      return false;
    term = attempt;
    return true;
  });
  if (found == factors.end() && term.repeats == 1) {
    found = llvm::find_if(
        factors, [](Value factor) { return matchColumn(factor).has_value(); });
    if (found == factors.end())
      return false;
    Column column = *matchColumn(*found);
    term.gate.weights.push_back(column.input);
    term.gate.dim = column.dim;
    term.expert = column.index;
  }
  if (found == factors.end())
    return false;
  for (const Value &factor : factors) {
    if (&factor == found)
      continue;
    if (!isa<FloatType>(getElementType(factor)))
      return false;
    if (term.repeats != 1) {
      if (!addRepeatedWeights(stripReshapes(factor), term))
        return false;
    } else {
      term.gate.scales.push_back(stripReshapes(factor));
    }
  }
  return term.repeats == 1 ||
         getShape(term.gate.choices)[term.gate.choiceDim] == term.repeats;
}

std::optional<ExpertTerm> matchExpertTerm(Value value) {
  ExpertTerm term;
  SmallVector<Value, 2> factors;
  auto take = [&](Value factor, Value rest) {
    factor = stripBroadcasts(factor);
    int64_t tokens = countTokens(factor, getShape(rest));
    if (tokens == 0 || (term.tokens != 0 && term.tokens != tokens))
      return false;
    term.tokens = tokens;
    factors.push_back(factor);
    value = rest;
    return true;
  };
  if (auto sum = stripReshapes(value).getDefiningOp<ReduceOp>();
      sum && sum.getKind() == ReduceKind::sum &&
      sum.getDims() == ArrayRef<int64_t>{0}) {
    term.repeats = getShape(sum.getInput())[0];
    value = sum.getInput();
  }
  while (Operation *op = value.getDefiningOp()) {
    if (isa<ReshapeOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    if (isa<MulOp>(op)) {
      if (take(op->getOperand(0), op->getOperand(1)) ||
          take(op->getOperand(1), op->getOperand(0)))
        continue;
    } else if (auto select = dyn_cast<SelectOp>(op)) {
      if (getSplat(select.getOnFalse()) == 0.0 &&
          take(select.getCondition(), select.getOnTrue()))
        continue;
    }
    break;
  }
  term.answer = value;
  if (!countLeadingDims(getShape(value), term.tokens) ||
      term.tokens % term.repeats != 0 || !matchGate(factors, term))
    return std::nullopt;
  return term;
}

} // namespace parplan::simplify
