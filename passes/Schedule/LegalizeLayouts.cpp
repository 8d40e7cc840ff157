//===- LegalizeLayouts.cpp - Forms that kernels of the runtime take -------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/MatmulForm.h"
#include "passes/Schedule/Passes.h"

#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_LEGALIZELAYOUTS
#include "passes/Schedule/Passes.h.inc"

namespace {

RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Attributes that say where an op comes from, not where its blocks lie.
void copyOrigin(Operation *from, Operation *to) {
  if (Attribute node = from->getAttr(attributes::node))
    to->setAttr(attributes::node, node);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

struct Letters {
  std::string lhs, rhs, result;

  MatmulSpec view() const { return {lhs, rhs, result}; }
  std::string print() const { return lhs + "," + rhs + "->" + result; }
};

Letters getLetters(MatmulOp op) {
  FailureOr<MatmulSpec> spec = MatmulSpec::parse(op.getSpec());
  return {spec->lhs.str(), spec->rhs.str(), spec->result.str()};
}

/// The letters of the operand of a transpose whose result has `letters`.
std::string getLettersBefore(StringRef letters, ArrayRef<int64_t> permutation) {
  std::string before(letters.size(), ' ');
  for (auto [dim, source] : llvm::enumerate(permutation))
    before[source] = letters[dim];
  return before;
}

std::string getLettersAfter(StringRef letters, ArrayRef<int64_t> permutation) {
  std::string after;
  for (int64_t source : permutation)
    after += letters[source];
  return after;
}

/// Replaces `op` by a product of other operands and spec.
MatmulOp rebuild(MatmulOp op, Value lhs, Value rhs, const Letters &letters,
                 RankedTensorType type) {
  OpBuilder builder(op);
  auto rebuilt =
      builder.create<MatmulOp>(op.getLoc(), type, lhs, rhs, letters.print());
  copyOrigin(op, rebuilt);
  return rebuilt;
}

/// Reads through transposes of operands where a form stays.
MatmulOp absorbOperands(MatmulOp op) {
  for (unsigned index : {0u, 1u}) {
    auto transpose = op->getOperand(index).getDefiningOp<TransposeOp>();
    if (!transpose)
      continue;
    Letters letters = getLetters(op);
    std::string &own = index == 0 ? letters.lhs : letters.rhs;
    own = getLettersBefore(own, transpose.getPermutation());
    Value operands[2] = {op.getLhs(), op.getRhs()};
    operands[index] = transpose.getInput();
    if (!getMatmulForm(letters.view(), getTensorType(operands[0]).getShape(),
                       getTensorType(operands[1]).getShape(),
                       getTensorType(op.getResult()).getShape()))
      continue;
    MatmulOp rebuilt = rebuild(op, operands[0], operands[1], letters,
                               getTensorType(op.getResult()));
    op.getResult().replaceAllUsesWith(rebuilt.getResult());
    op.erase();
    if (transpose->use_empty())
      transpose.erase();
    op = rebuilt;
  }
  return op;
}

/// Writes transposed what is only read transposed.
MatmulOp absorbResult(MatmulOp op) {
  if (!op->hasOneUse())
    return op;
  auto transpose = dyn_cast<TransposeOp>(*op->user_begin());
  if (!transpose)
    return op;
  Letters letters = getLetters(op);
  letters.result = getLettersAfter(letters.result, transpose.getPermutation());
  RankedTensorType type = getTensorType(transpose.getResult());
  if (!getMatmulForm(letters.view(), getTensorType(op.getLhs()).getShape(),
                     getTensorType(op.getRhs()).getShape(), type.getShape()))
    return op;
  MatmulOp rebuilt = rebuild(op, op.getLhs(), op.getRhs(), letters, type);
  transpose.getResult().replaceAllUsesWith(rebuilt.getResult());
  transpose.erase();
  op.erase();
  return rebuilt;
}

Value createTranspose(OpBuilder &builder, Operation *origin, Value input,
                      StringRef from, StringRef to) {
  if (from == to)
    return input;
  SmallVector<int64_t> permutation, shape;
  for (char letter : to) {
    permutation.push_back(from.find(letter));
    shape.push_back(getTensorType(input).getDimSize(permutation.back()));
  }
  auto type = getTensorType(input).clone(shape);
  auto transpose = builder.create<TransposeOp>(
      origin->getLoc(), type, input, builder.getDenseI64ArrayAttr(permutation));
  copyOrigin(origin, transpose);
  return transpose;
}

/// The types of a product's operands and result.
struct ProductTypes {
  RankedTensorType lhs, rhs, result;
};

ProductTypes getTypes(MatmulOp op) {
  return {getTensorType(op.getLhs()), getTensorType(op.getRhs()),
          getTensorType(op.getResult())};
}

SmallVector<int64_t> permuteShape(RankedTensorType type, StringRef from,
                                  StringRef to) {
  SmallVector<int64_t> shape;
  for (char letter : to)
    shape.push_back(type.getDimSize(from.find(letter)));
  return shape;
}

/// The letters with which the product has a form after the cheapest transposes:
/// of one side, two, or all to batch-major order.
Letters findLetters(MatmulOp op) {
  Letters own = getLetters(op);
  ProductTypes types = getTypes(op);
  MatmulLetters roles = classifyLetters(own.view());
  // Summed dimensions that lie side by side in one operand can stay there.
  std::string summedOfRhs;
  for (char letter : own.rhs)
    if (roles.summed.find(letter) != std::string::npos)
      summedOfRhs += letter;
  Letters best;
  int64_t fewest = INT64_MAX;
  for (const std::string &summed : {roles.summed, summedOfRhs})
    for (unsigned moved = 1; moved < 8; ++moved) {
      Letters letters = own;
      int64_t elements = 0;
      if (moved & 1) {
        letters.lhs = roles.batch + roles.rows + summed;
        elements += types.lhs.getNumElements();
      }
      if (moved & 2) {
        letters.rhs = roles.batch + summed + roles.columns;
        elements += types.rhs.getNumElements();
      }
      if (moved & 4) {
        letters.result = roles.batch + roles.rows + roles.columns;
        elements += types.result.getNumElements();
      }
      if (elements < fewest &&
          getMatmulForm(
              letters.view(), permuteShape(types.lhs, own.lhs, letters.lhs),
              permuteShape(types.rhs, own.rhs, letters.rhs),
              permuteShape(types.result, own.result, letters.result))) {
        fewest = elements;
        best = letters;
      }
    }
  return best;
}

/// Brings a product to a form with explicit transposes.
void transposeToForm(MatmulOp op) {
  Letters letters = getLetters(op);
  Letters wanted = findLetters(op);
  OpBuilder builder(op);
  Value lhs =
      createTranspose(builder, op, op.getLhs(), letters.lhs, wanted.lhs);
  Value rhs =
      createTranspose(builder, op, op.getRhs(), letters.rhs, wanted.rhs);
  RankedTensorType type = getTensorType(op.getResult());
  MatmulOp product =
      rebuild(op, lhs, rhs, wanted,
              type.clone(permuteShape(type, letters.result, wanted.result)));
  builder.setInsertionPointAfter(product);
  Value result = createTranspose(builder, op, product.getResult(),
                                 wanted.result, letters.result);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// A kernel takes only so many tensors: a longer sum goes on where the one
/// before has ended, from left to right.
constexpr size_t maximumAddends = 16;

void splitSum(SumOp op) {
  if (op.getInputs().size() <= maximumAddends)
    return;
  OpBuilder builder(op);
  SmallVector<Value> rest(op.getInputs());
  while (rest.size() > maximumAddends) {
    auto part = builder.create<SumOp>(
        op.getLoc(), op.getType(), ArrayRef(rest).take_front(maximumAddends));
    copyOrigin(op, part);
    rest.erase(rest.begin(), rest.begin() + maximumAddends);
    rest.insert(rest.begin(), part.getResult());
  }
  op.getInputsMutable().assign(rest);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Groups of neighbouring dimensions; size 1 between two of them joins them.
SmallVector<SmallVector<int64_t>> groupDims(RankedTensorType type,
                                            ArrayRef<int64_t> dims) {
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  SmallVector<SmallVector<int64_t>> groups;
  for (int64_t dim : sorted) {
    bool joins = !groups.empty();
    if (joins)
      for (int64_t between = groups.back().back() + 1; between < dim; ++between)
        joins &= type.getDimSize(between) == 1;
    if (!joins)
      groups.emplace_back();
    groups.back().push_back(dim);
  }
  return groups;
}

/// One reduction per group, from the last: reducing it leaves the numbers of
/// the dimensions before it.
void splitReduction(ReduceOp op) {
  RankedTensorType type = getTensorType(op.getInput());
  auto groups = groupDims(type, op.getDims());
  if (groups.size() < 2)
    return;
  OpBuilder builder(op);
  Value value = op.getInput();
  for (ArrayRef<int64_t> dims : llvm::reverse(groups)) {
    SmallVector<int64_t> shape(getTensorType(value).getShape());
    for (int64_t dim : llvm::reverse(dims)) {
      if (op.getKeepDims())
        shape[dim] = 1;
      else
        shape.erase(shape.begin() + dim);
    }
    auto part = builder.create<ReduceOp>(
        op.getLoc(), type.clone(shape), op.getKindAttr(), value,
        builder.getDenseI64ArrayAttr(dims), op.getKeepDimsAttr());
    copyOrigin(op, part);
    value = part.getResult();
  }
  op.getResult().replaceAllUsesWith(value);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Composites without a kernel
//===----------------------------------------------------------------------===//

void decompose(DecomposableOpInterface op) {
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  SmallVector<Value> results = op.decompose(builder);
  Operation *first = before ? before->getNextNode() : &op->getBlock()->front();
  for (Operation *part = first; part != op; part = part->getNextNode())
    copyOrigin(op, part);
  op->replaceAllUsesWith(results);
  op->erase();
}

//===----------------------------------------------------------------------===//
// 16-bit floats
//===----------------------------------------------------------------------===//

/// Kernels of these take no 16-bit floats.
bool needsWideFloats(Operation *op) {
  return isa<SoftmaxOp, LogSoftmaxOp, LayerNormOp, RMSNormOp, CumSumOp, TopKOp>(
      op);
}

bool hasNarrowType(Value value) {
  Type type = getTensorType(value).getElementType();
  return type.isBF16() || type.isF16();
}

/// Computes `op` in f32, between casts that join the kernels around it.
void widen(Operation *op) {
  OpBuilder builder(op);
  auto cast = [&](Value value, Type element) {
    auto result = builder.create<CastOp>(
        op->getLoc(), getTensorType(value).clone(element), value);
    copyOrigin(op, result);
    return result.getResult();
  };
  IRMapping operands;
  for (Value operand : op->getOperands())
    if (hasNarrowType(operand) && !operands.contains(operand))
      operands.map(operand, cast(operand, builder.getF32Type()));
  Operation *wide = builder.clone(*op, operands);
  for (auto [narrow, result] :
       llvm::zip_equal(op->getResults(), wide->getResults())) {
    Value replacement = result;
    if (hasNarrowType(narrow)) {
      result.setType(getTensorType(result).clone(builder.getF32Type()));
      replacement = cast(result, getTensorType(narrow).getElementType());
    }
    narrow.replaceAllUsesWith(replacement);
  }
  op->erase();
}

struct LegalizeLayoutsPass : impl::LegalizeLayoutsBase<LegalizeLayoutsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      legalize(function);
  }

  static void legalize(func::FuncOp function) {
    // Collected first: handlers erase and replace what they visit.
    SmallVector<MatmulOp> products;
    SmallVector<ReduceOp> reductions;
    SmallVector<SumOp> sums;
    SmallVector<BatchNormOp> norms;
    SmallVector<Operation *> wide;
    for (Operation &op : function.getBody().front()) {
      if (auto product = dyn_cast<MatmulOp>(op))
        products.push_back(product);
      else if (auto reduction = dyn_cast<ReduceOp>(op))
        reductions.push_back(reduction);
      else if (auto sum = dyn_cast<SumOp>(op))
        sums.push_back(sum);
      else if (auto norm = dyn_cast<BatchNormOp>(op))
        norms.push_back(norm);
      else if (needsWideFloats(&op) && hasNarrowType(op.getOperand(0)))
        wide.push_back(&op);
    }
    for (MatmulOp product : products) {
      product = absorbResult(absorbOperands(product));
      if (!getMatmulForm(product))
        transposeToForm(product);
    }
    for (ReduceOp reduction : reductions)
      splitReduction(reduction);
    for (SumOp sum : sums)
      splitSum(sum);
    for (Operation *op : wide)
      widen(op);
    for (BatchNormOp norm : norms)
      decompose(cast<DecomposableOpInterface>(norm.getOperation()));
  }
};

} // namespace
} // namespace parplan
