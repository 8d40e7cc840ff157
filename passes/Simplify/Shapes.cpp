//===- Shapes.cpp - Joins and sinks reshapes and transposes ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Layout.h"
#include "passes/Simplify/Matching.h"

using namespace mlir;

namespace parplan::simplify {

Operation *Rewriter::cloneWith(Operation *op, ValueRange operands, Type type) {
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(type);
  created.push_back(copy);
  return copy;
}

Value Rewriter::ones(RankedTensorType type) {
  auto one = FloatAttr::get(type.getElementType(), 1);
  return create<ConstantOp>(
      cast<ElementsAttr>(Attribute(DenseElementsAttr::get(type, one))));
}

Value Rewriter::reshape(Value value, ArrayRef<int64_t> shape) {
  if (getShape(value) == shape)
    return value;
  return create<ReshapeOp>(RankedTensorType::get(shape, getElementType(value)),
                           value);
}

Value Rewriter::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return value;
  return create<TransposeOp>(value, permutation);
}

Value Rewriter::slice(Value value, int64_t dim, int64_t start, int64_t limit) {
  if (start == 0 && limit == getShape(value)[dim])
    return value;
  return create<SliceOp>(value, ArrayRef<int64_t>{dim},
                         ArrayRef<int64_t>{start}, ArrayRef<int64_t>{limit},
                         ArrayRef<int64_t>{1});
}

Operation *Rewriter::insert(OperationState &state) {
  StringRef raised = std::exchange(onnxOp, StringRef());
  // Leaves carry no mathematics, and layouts no operator's.
  bool isLeaf = state.operands.empty();
  TypeID kind = state.name.getTypeID();
  bool isLayout =
      llvm::is_contained({TypeID::get<ReshapeOp>(), TypeID::get<TransposeOp>(),
                          TypeID::get<BroadcastOp>(), TypeID::get<SliceOp>()},
                         kind);
  if (Attribute node = origin->getAttr(attributes::node); node && !isLeaf)
    state.addAttribute(attributes::node, node);
  if (!isLeaf && !isLayout) {
    Attribute name = raised.empty() ? origin->getAttr(attributes::onnxOp)
                                    : builder.getStringAttr(raised);
    if (name)
      state.addAttribute(attributes::onnxOp, name);
  }
  created.push_back(builder.create(state));
  return created.back();
}

void Rewriter::replaceShared(Value value, Value replacement) {
  auto found = keysOfShared.find(value);
  if (found == keysOfShared.end())
    return;
  SmallVector<TableKey, 1> keys = std::move(found->second);
  keysOfShared.erase(found);
  for (const TableKey &key : keys)
    tables[key] = replacement;
  keysOfShared[replacement].append(keys);
}

/// A chain of reshapes, transposes and broadcasts as a shorter one.
Value joinLayoutOps(Operation *op, Rewriter &rewriter) {
  Layout layout = Layout::trace(op->getResult(0));
  if (layout.getOpCount() == 0 ||
      layout.countOps(layout.getDims()) >= layout.getOpCount())
    return {};
  return layout.build(layout.getDims(), rewriter);
}

/// A slice of a slice that nothing else reads as one.
Value joinSlices(Operation *op, Rewriter &rewriter) {
  auto outer = cast<SliceOp>(op);
  auto inner = outer.getInput().getDefiningOp<SliceOp>();
  if (!inner || !inner->hasOneUse() || outer.getDims().size() != 1 ||
      inner.getDims() != outer.getDims() || inner.getSteps()[0] != 1 ||
      outer.getSteps()[0] != 1)
    return {};
  int64_t start = inner.getStarts()[0];
  return rewriter.slice(inner.getInput(), outer.getDims()[0],
                        start + outer.getStarts()[0],
                        start + outer.getLimits()[0]);
}

/// Other operands may broadcast over the flattened dimension or be flattened
/// likewise.
Value sinkReshapeBelowElementwise(Operation *op, Rewriter &rewriter) {
  std::optional<Flattening> flattening;
  for (Value operand : op->getOperands())
    if (!flattening)
      flattening = matchFlattening(operand);
  if (!flattening)
    return {};
  ArrayRef<int64_t> resultShape = getShape(op->getResult(0));
  if (resultShape.size() != flattening->kept + 1 ||
      resultShape[0] != flattening->getRows())
    return {};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> shape = getShape(operand);
    std::optional<Flattening> own = matchFlattening(operand);
    if (own && own->kept == flattening->kept &&
        own->getPrefix() == flattening->getPrefix()) {
      operands.push_back(own->input);
    } else if (shape.size() <= flattening->kept) {
      operands.push_back(operand);
    } else if (shape.size() == flattening->kept + 1 && shape[0] == 1) {
      operands.push_back(rewriter.reshape(operand, shape.drop_front()));
    } else {
      return {};
    }
  }
  SmallVector<int64_t> shape(flattening->getPrefix());
  shape.append(resultShape.begin() + 1, resultShape.end());
  Operation *sunk = rewriter.cloneWith(
      op, operands,
      RankedTensorType::get(shape, getElementType(op->getResult(0))));
  return rewriter.reshape(sunk->getResult(0), resultShape);
}

/// unflatten(flatten(x) + y) is x + unflatten(y): y is what broadcasts in other
/// dimensions, such as a bias of scores per head and key.
Value hoistUnflattening(Operation *op, Rewriter &rewriter) {
  Value flat = op->getOperand(0);
  Operation *inner = flat.getDefiningOp();
  ArrayRef<int64_t> shape = getShape(op->getResult(0)), from = getShape(flat);
  if (!inner || !isElementwise(inner) || !flat.hasOneUse() ||
      shape.size() <= from.size() || from.size() < 2 ||
      shape.take_back(from.size() - 1) != from.drop_front())
    return {};
  ArrayRef<int64_t> prefix = shape.drop_back(from.size() - 1);
  bool isFlattened = false;
  SmallVector<Value> operands;
  for (Value operand : inner->getOperands()) {
    ArrayRef<int64_t> own = getShape(operand);
    std::optional<Flattening> flattening = matchFlattening(operand);
    if (flattening && own.size() == from.size() &&
        flattening->getPrefix() == prefix) {
      operands.push_back(flattening->input);
      isFlattened = true;
    } else if (own.size() < from.size()) {
      operands.push_back(operand);
    } else {
      SmallVector<int64_t> wide(own[0] == 1 ? SmallVector<int64_t>()
                                            : SmallVector<int64_t>(prefix));
      llvm::append_range(wide, own.drop_front());
      operands.push_back(rewriter.reshape(operand, wide));
    }
  }
  if (!isFlattened)
    return {};
  return rewriter
      .cloneWith(inner, operands,
                 RankedTensorType::get(shape, getElementType(flat)))
      ->getResult(0);
}

/// Ops that work on rows: softmax and norms over kept dimensions, reductions
/// and slices of kept dimensions.
Value sinkReshapeBelowRows(Operation *op, Rewriter &rewriter) {
  std::optional<Flattening> flattening = matchFlattening(op->getOperand(0));
  if (!flattening)
    return {};
  int64_t shift = static_cast<int64_t>(flattening->getPrefix().size()) - 1;
  auto move = [&](ArrayRef<int64_t> dims) {
    SmallVector<int64_t> moved;
    for (int64_t dim : dims)
      moved.push_back(dim + shift);
    return rewriter.builder.getDenseI64ArrayAttr(moved);
  };
  // Which attribute names the dimensions, and what they become.
  StringRef name = isa<ReduceOp, SliceOp>(op) ? "dims" : "dim";
  Attribute moved;
  if (auto many = op->getAttrOfType<DenseI64ArrayAttr>(name)) {
    if (llvm::is_contained(many.asArrayRef(), 0))
      return {};
    moved = move(many.asArrayRef());
  } else {
    auto one = op->getAttrOfType<IntegerAttr>(name);
    if (!one || one.getInt() == 0)
      return {};
    moved = rewriter.builder.getI64IntegerAttr(one.getInt() + shift);
  }
  ArrayRef<int64_t> resultShape = getShape(op->getResult(0));
  SmallVector<int64_t> shape(flattening->getPrefix());
  shape.append(resultShape.begin() + 1, resultShape.end());
  SmallVector<Value> operands(op->getOperands());
  operands[0] = flattening->input;
  Operation *sunk = rewriter.cloneWith(
      op, operands,
      RankedTensorType::get(shape, getElementType(op->getResult(0))));
  sunk->setAttr(name, moved);
  return rewriter.reshape(sunk->getResult(0), resultShape);
}

} // namespace parplan::simplify
