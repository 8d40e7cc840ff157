//===- BuilderChoices.cpp - Masks that choose between two numbers ---------===//
//
// Part of parplan. Exporters write causal masks as triangles of ones: cut out
// of a larger one, cast, subtracted from 1, multiplied by a large number. Each
// of these is a choice between two other numbers by another affine mask, so
// that none of them has elements.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/GraphBuilder.h"

#include "parplan/Support/CheckedMath.h"

namespace parplan::importer {

namespace {
/// select(condition, onTrue, onFalse) of an affine mask and two numbers.
struct Choice {
  ValueId condition, onTrue, onFalse;
};
} // namespace

/// The choice that a value is, also behind broadcasts.
static std::optional<Choice> matchChoice(const GraphBuilder &builder,
                                         ValueId value) {
  while (const Op *repeated =
             builder.graph.getDefinition(value, OpKind::broadcast))
    value = repeated->operands[0];
  const Op *op = builder.graph.getDefinition(value, OpKind::select);
  if (!op)
    return std::nullopt;
  const Constant *mask = builder.graph.getConstant(op->operands[0]);
  if (!mask || !mask->isAffine() || !builder.getSplat(op->operands[1]) ||
      !builder.getSplat(op->operands[2]))
    return std::nullopt;
  return Choice{op->operands[0], op->operands[1], op->operands[2]};
}

ValueId GraphBuilder::foldChoice(OpKind kind, Predicate predicate,
                                 llvm::ArrayRef<ValueId> operands,
                                 ElementType type, ShapeRef shape) {
  std::optional<Choice> choice;
  llvm::SmallVector<ValueId, 3> onTrue, onFalse;
  for (ValueId operand : operands) {
    if (std::optional<Cell> number = getSplat(operand)) {
      onTrue.push_back(makeSplat(getType(operand), {}, *number));
      onFalse.push_back(onTrue.back());
      continue;
    }
    std::optional<Choice> own = matchChoice(*this, operand);
    if (!own || (choice && choice->condition != own->condition))
      return noValue;
    choice = own;
    onTrue.push_back(makeSplat(getType(operand), {}, *getSplat(own->onTrue)));
    onFalse.push_back(makeSplat(getType(operand), {}, *getSplat(own->onFalse)));
  }
  if (!choice)
    return noValue;
  ValueId first = foldElementwise(kind, predicate, onTrue, type, {});
  ValueId second = foldElementwise(kind, predicate, onFalse, type, {});
  if (first == noValue || second == noValue)
    return noValue;
  return broadcast(select(choice->condition, first, second), shape);
}

ValueId GraphBuilder::makeMask(AffineFunction function, ShapeRef shape) {
  int64_t low = function.offset, high = function.offset;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    std::optional<int64_t> reach =
        checkedMultiply(function.coefficients[dim], shape[dim] - 1);
    if (!reach)
      return noValue;
    int64_t &end = *reach < 0 ? low : high;
    std::optional<int64_t> moved = checkedAdd(end, *reach);
    if (!moved)
      return noValue;
    end = *moved;
  }
  if (high <= 0)
    return makeNumber(ElementType::i1, 1, shape);
  if (low > 0)
    return makeNumber(ElementType::i1, 0, shape);
  return graph.addConstantValue(graph.constants.addAffine(std::move(function)),
                                shape);
}

ValueId GraphBuilder::sliceMask(ValueId input,
                                llvm::ArrayRef<SliceRange> cuts) {
  std::optional<Choice> choice = matchChoice(*this, input);
  ValueId mask = choice ? choice->condition : input;
  const Constant *constant = graph.getConstant(mask);
  if (!constant || !constant->isAffine())
    return noValue;
  AffineFunction function{constant->coefficients, constant->offset};
  Shape shape = getShape(input), part = getShape(mask);
  size_t added = shape.size() - part.size();
  for (const SliceRange &cut : cuts) {
    int64_t size = cut.getSize();
    if (size == 0)
      return noValue;
    shape[cut.dim] = size;
    if (size_t(cut.dim) < added || part[cut.dim - added] == 1)
      continue;
    part[cut.dim - added] = size;
    int64_t &coefficient = function.coefficients[cut.dim - added];
    std::optional<int64_t> start = checkedMultiply(coefficient, cut.start);
    std::optional<int64_t> step = checkedMultiply(coefficient, cut.step);
    std::optional<int64_t> offset =
        start ? checkedAdd(function.offset, *start) : std::nullopt;
    if (!step || !offset)
      return noValue;
    function.offset = *offset;
    coefficient = *step;
  }
  mask = makeMask(std::move(function), part);
  if (mask == noValue)
    return noValue;
  return broadcast(
      choice ? select(mask, choice->onTrue, choice->onFalse) : mask, shape);
}

} // namespace parplan::importer
