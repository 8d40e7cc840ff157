//===- LegalizeProducts.cpp - Products that kernels take ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/LegalizeProducts.h"

#include "dialects/parplan/TensorTypes.h"
#include "passes/Schedule/Origins.h"
#include "passes/Schedule/PanelProduct.h"
#include "passes/Schedule/Placement.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Sizes.h"

using namespace mlir;

namespace parplan {

namespace {

struct Letters {
  std::string lhs, rhs, result;

  MatmulSpec view() const { return {lhs, rhs, result}; }
  std::string print() const { return lhs + "," + rhs + "->" + result; }
};

Letters getLetters(Operation *op) {
  FailureOr<MatmulSpec> spec =
      MatmulSpec::parse(op->getAttrOfType<StringAttr>("spec").getValue());
  return {spec->lhs.str(), spec->rhs.str(), spec->result.str()};
}

/// The shapes of a product's operands and result.
using Shapes = std::array<SmallVector<int64_t>, PanelProduct::tensorCount>;

Shapes getShapes(Operation *op) {
  auto getShape = [](Value value) {
    return SmallVector<int64_t>(getTensorType(value).getShape());
  };
  return {getShape(op->getOperand(0)), getShape(op->getOperand(1)),
          getShape(op->getResult(0))};
}

/// Whether the product has a form, of every panel, with other letters and
/// shapes.
bool hasForm(Operation *op, const Letters &letters, const Shapes &shapes) {
  MatmulSpec spec = letters.view();
  auto takesRows = [&](const std::optional<MatmulForm> &form,
                       const std::optional<ExpertRows> &rows) {
    return form && (!rows || isFormOfRows(*form, spec, *rows,
                                          rows->countExperts(spec, shapes[0])));
  };
  auto panels = dyn_cast<PanelMatmulOp>(op);
  if (!panels)
    return takesRows(getMatmulForm(spec, shapes[0], shapes[1], shapes[2]),
                     cast<MatmulOp>(op).getRows());
  MeshOp meshOp = getOnlyMesh(op->getParentOfType<ModuleOp>());
  const Mesh &mesh = meshOp.getMesh().getMesh();
  PanelProduct product(panels, mesh);
  product.spec = spec;
  llvm::copy(shapes, product.blocks);
  return llvm::all_of(getPanels(panels, mesh), [&](const Panel &panel) {
    return takesRows(product.getForm(panel.size), panels.getRows());
  });
}

/// Replaces `op` by a product of other operands and spec; `type` is that of the
/// result.
Operation *rebuild(Operation *op, Value lhs, Value rhs, const Letters &letters,
                   RankedTensorType type) {
  OpBuilder builder(op);
  Operation *rebuilt;
  if (auto panels = dyn_cast<PanelMatmulOp>(op))
    rebuilt = builder.create<PanelMatmulOp>(
        op->getLoc(), type, lhs, rhs, letters.print(), panels.getPanel(),
        panels.getSize(), panels.getPanelAxes(), panels.getRows());
  else
    rebuilt = builder.create<MatmulOp>(op->getLoc(), lhs, rhs, letters.print(),
                                       cast<MatmulOp>(op).getRows());
  copyNode(op, rebuilt);
  return rebuilt;
}

//===----------------------------------------------------------------------===//
// Transposes that are there
//===----------------------------------------------------------------------===//

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

/// Reads through transposes of operands where a form stays.
Operation *absorbOperands(Operation *op) {
  for (unsigned index : {0u, 1u}) {
    auto transpose = op->getOperand(index).getDefiningOp<TransposeOp>();
    if (!transpose)
      continue;
    Letters letters = getLetters(op);
    std::string &own = index == 0 ? letters.lhs : letters.rhs;
    own = getLettersBefore(own, transpose.getPermutation());
    Value operands[2] = {op->getOperand(0), op->getOperand(1)};
    operands[index] = transpose.getInput();
    Shapes shapes = getShapes(op);
    shapes[index] =
        SmallVector<int64_t>(getTensorType(operands[index]).getShape());
    if (!hasForm(op, letters, shapes))
      continue;
    Operation *rebuilt = rebuild(op, operands[0], operands[1], letters,
                                 getTensorType(op->getResult(0)));
    op->replaceAllUsesWith(rebuilt);
    op->erase();
    if (transpose->use_empty())
      transpose.erase();
    op = rebuilt;
  }
  return op;
}

/// Writes transposed what is only read transposed.
Operation *absorbResult(Operation *op) {
  if (!op->hasOneUse())
    return op;
  auto transpose = dyn_cast<TransposeOp>(*op->user_begin());
  if (!transpose)
    return op;
  Letters letters = getLetters(op);
  letters.result = getLettersAfter(letters.result, transpose.getPermutation());
  RankedTensorType type = getTensorType(transpose.getResult());
  Shapes shapes = getShapes(op);
  shapes[2] = SmallVector<int64_t>(type.getShape());
  if (!hasForm(op, letters, shapes))
    return op;
  Operation *rebuilt =
      rebuild(op, op->getOperand(0), op->getOperand(1), letters, type);
  transpose->replaceAllUsesWith(rebuilt);
  transpose.erase();
  op->erase();
  return rebuilt;
}

//===----------------------------------------------------------------------===//
// Transposes that are needed
//===----------------------------------------------------------------------===//

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
  copyNode(origin, transpose);
  return transpose;
}

SmallVector<int64_t> permuteShape(ArrayRef<int64_t> shape, StringRef from,
                                  StringRef to) {
  SmallVector<int64_t> permuted;
  for (char letter : to)
    permuted.push_back(shape[from.find(letter)]);
  return permuted;
}

/// Orders of the summed letters. Letters that lie side by side in one operand
/// can stay there; those that are cut into panels are one run with others only
/// as the outermost one.
SmallVector<std::string>
getSummedOrders(Operation *op, const MatmulLetters &roles, StringRef rhs) {
  std::string ofRhs, panelFirst;
  for (char letter : rhs)
    if (StringRef(roles.summed).contains(letter))
      ofRhs += letter;
  SmallVector<std::string> orders = {roles.summed, ofRhs};
  if (auto panels = dyn_cast<PanelMatmulOp>(op);
      panels && StringRef(roles.summed).contains(panels.getPanel())) {
    panelFirst = panels.getPanel().str();
    for (char letter : roles.summed)
      if (letter != panelFirst.front())
        panelFirst += letter;
    orders.push_back(panelFirst);
  }
  return orders;
}

/// The letters with which the product has a form after the cheapest transposes:
/// of one side, two, or all to batch-major order.
Letters findLetters(Operation *op) {
  Letters own = getLetters(op);
  Shapes shapes = getShapes(op);
  MatmulLetters roles = classifyLetters(own.view());
  Letters best;
  int64_t fewest = INT64_MAX;
  for (const std::string &summed : getSummedOrders(op, roles, own.rhs))
    for (unsigned moved = 1; moved < 8; ++moved) {
      Letters letters = own;
      if (moved & 1)
        letters.lhs = roles.batch + roles.rows + summed;
      if (moved & 2)
        letters.rhs = roles.batch + summed + roles.columns;
      if (moved & 4)
        letters.result = roles.batch + roles.rows + roles.columns;
      int64_t elements = 0;
      for (unsigned tensor = 0; tensor < shapes.size(); ++tensor)
        if (moved & 1u << tensor)
          elements += multiplySizes(shapes[tensor]);
      if (elements < fewest &&
          hasForm(op, letters,
                  {permuteShape(shapes[0], own.lhs, letters.lhs),
                   permuteShape(shapes[1], own.rhs, letters.rhs),
                   permuteShape(shapes[2], own.result, letters.result)})) {
        fewest = elements;
        best = letters;
      }
    }
  PARPLAN_CHECK(fewest < INT64_MAX, "a product has no matmul form");
  return best;
}

/// Brings a product to a form with explicit transposes.
void transposeToForm(Operation *op) {
  Letters letters = getLetters(op);
  Letters wanted = findLetters(op);
  OpBuilder builder(op);
  Value lhs =
      createTranspose(builder, op, op->getOperand(0), letters.lhs, wanted.lhs);
  Value rhs =
      createTranspose(builder, op, op->getOperand(1), letters.rhs, wanted.rhs);
  RankedTensorType type = getTensorType(op->getResult(0));
  Operation *product = rebuild(
      op, lhs, rhs, wanted,
      type.clone(permuteShape(type.getShape(), letters.result, wanted.result)));
  builder.setInsertionPointAfter(product);
  Value result = createTranspose(builder, op, product->getResult(0),
                                 wanted.result, letters.result);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

} // namespace

void legalizeProduct(Operation *op) {
  op = absorbResult(absorbOperands(op));
  if (!hasForm(op, getLetters(op), getShapes(op)))
    transposeToForm(op);
}

} // namespace parplan
