//===- GradientBuilder.cpp - Builds the backward of one op ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/GradientBuilder.h"

#include "dialects/parplan/ReverseMode.h"

#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan {

GradientBuilder::GradientBuilder(OpBuilder &parent, Operation *forward,
                                 ArrayRef<GradientNeed> needs)
    : ComposeHelper(builder, forward->getLoc()), forward(forward), needs(needs),
      builder(parent.getContext(), &listener) {
  listener.parent = parent.getListener();
  builder.restoreInsertionPoint(parent.saveInsertionPoint());
  serve(llvm::to_vector(
      llvm::seq<int>(0, static_cast<int>(forward->getNumOperands()))));
}

void GradientBuilder::RoleListener::notifyOperationInserted(
    Operation *op, OpBuilder::InsertPoint from) {
  // An op of a part that is differentiated knows better.
  if (!op->hasAttr(attributes::role))
    op->setAttr(attributes::role, role);
  made.push_back(op);
  if (parent)
    parent->notifyOperationInserted(op, from);
}

bool GradientBuilder::isNeeded(int operand) const {
  return operand >= 0 && needs[operand] != GradientNeed::none;
}

bool GradientBuilder::isAnyNeeded(ArrayRef<int> operands) const {
  return llvm::any_of(operands, [&](int operand) { return isNeeded(operand); });
}

void GradientBuilder::serve(ArrayRef<int> operands) {
  bool servesInputs = llvm::any_of(operands, [&](int operand) {
    return operand >= 0 && needs[operand] == GradientNeed::input;
  });
  listener.role = builder.getStringAttr(servesInputs ? roles::inputGradient
                                                     : roles::weightGradient);
}

OperandGradients GradientBuilder::makeNone() const {
  return OperandGradients(forward->getNumOperands());
}

Value GradientBuilder::sumTo(Value operand, Value gradient) {
  Shape wanted(getShape(operand)), shape(getShape(gradient));
  size_t missing = shape.size() - wanted.size();
  SmallVector<int64_t> stretched;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (dim < missing ? true : wanted[dim - missing] != shape[dim])
      stretched.push_back(dim);
  if (stretched.empty())
    return gradient;
  Value sum = create<ReduceOp>(ReduceKind::sum, gradient, stretched,
                               /*keep_dims=*/missing == 0);
  return getShape(sum) == ArrayRef(wanted) ? sum : reshape(sum, wanted);
}

Value GradientBuilder::broadcastTo(Value target, Value value) {
  if (getShape(value) == getShape(target))
    return value;
  return create<BroadcastOp>(getTensorType(value).clone(getShape(target)),
                             value);
}

Value GradientBuilder::cast(Value value, Type element) {
  RankedTensorType type = getTensorType(value);
  if (type.getElementType() == element)
    return value;
  return create<CastOp>(type.clone(element), value);
}

Value GradientBuilder::scalarLike(Value like, double value) {
  return scalar(getTensorType(like).getElementType(), value);
}

Value GradientBuilder::scale(Value value, double factor) {
  return create<MulOp>(value, scalarLike(value, factor));
}

Value GradientBuilder::addScalar(Value value, double term) {
  return create<AddOp>(value, scalarLike(value, term));
}

OperandGradients
GradientBuilder::differentiateParts(ArrayRef<Value> resultGradients) {
  size_t first = listener.made.size();
  SmallVector<Value> results =
      llvm::cast<DecomposableOpInterface>(forward).decompose(builder);
  SmallVector<Operation *> parts(
      ArrayRef<Operation *>(listener.made).drop_front(first));
  SmallVector<std::pair<Value, Value>> seeds;
  for (auto [result, gradient] : llvm::zip_equal(results, resultGradients))
    if (gradient)
      seeds.emplace_back(result, gradient);
  SmallVector<Value> wanted;
  for (OpOperand &operand : forward->getOpOperands())
    if (isNeeded(static_cast<int>(operand.getOperandNumber())))
      wanted.push_back(operand.get());
  ReverseMode mode;
  mode.isWeight = [&](Value value) {
    for (OpOperand &operand : forward->getOpOperands())
      if (operand.get() == value)
        return needs[operand.getOperandNumber()] != GradientNeed::input;
    return true;
  };
  Gradients gradients = differentiate(builder, parts, seeds, wanted, mode);
  PARPLAN_CHECK(gradients.missing.empty(), "a part of ",
                std::string_view(forward->getName().getStringRef()),
                " has no gradient");
  // Parts that no gradient reads.
  for (Operation *part : llvm::reverse(parts)) {
    if (!part->use_empty())
      continue;
    listener.made.erase(llvm::find(listener.made, part));
    part->erase();
  }
  // An operand that occurs twice gets its whole gradient at the first place.
  OperandGradients answer = makeNone();
  for (OpOperand &operand : forward->getOpOperands()) {
    auto found = gradients.of.find(operand.get());
    if (found == gradients.of.end() || !isNeeded(operand.getOperandNumber()))
      continue;
    answer[operand.getOperandNumber()] = found->second;
    gradients.of.erase(found);
  }
  return answer;
}

} // namespace parplan
