//===- SequenceFollower.cpp - Where a causal sequence goes ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Order/SequenceFollower.h"

using namespace mlir;

namespace parplan::order {

bool isSource(Value value) {
  return isa_and_nonnull<ParameterOp, ConstantOp, IotaOp, AffineMaskOp>(
      value.getDefiningOp());
}

bool SequenceFollower::run(func::FuncOp function) {
  for (auto attention : function.getOps<AttentionOp>())
    if (attention.getCausal() && !takeAttention(attention))
      return false;
  while (!open.empty()) {
    auto [value, dim] = open.pop_back_val();
    if (!follow(value, dim))
      return false;
  }
  if (factors.empty())
    return fail(nullptr, "there is no causal attention");
  return true;
}

SmallVector<int64_t> SequenceFollower::getDims(OpOperand &operand) {
  const llvm::SmallBitVector &own = factors.find(operand.getOwner())->second;
  const TensorFactors &tensor =
      getRule(operand.getOwner()).operands[operand.getOperandNumber()];
  SmallVector<int64_t> dims;
  for (auto [dim, indices] : llvm::enumerate(tensor))
    if (!indices.empty() && own.test(indices.front()))
      dims.push_back(static_cast<int64_t>(dim));
  return dims;
}

DenseI64ArrayAttr SequenceFollower::getOrder(Value value) const {
  SmallVector<int64_t> order(cast<RankedTensorType>(value.getType()).getRank(),
                             1);
  for (auto [dim, number] : llvm::enumerate(order))
    if (places.contains({value, static_cast<unsigned>(dim)}))
      number = ranks;
  if (llvm::all_of(order, [](int64_t number) { return number == 1; }))
    return {};
  return DenseI64ArrayAttr::get(value.getContext(), order);
}

bool SequenceFollower::fail(Operation *op, const Twine &reason) {
  obstacle = {op, reason.str()};
  return false;
}

const ShardingRule &SequenceFollower::getRule(Operation *op) {
  auto [place, isNew] = rules.try_emplace(op);
  if (isNew)
    place->second = cast<ShardingRuleOpInterface>(op).getShardingRule();
  return place->second;
}

/// Queries and keys of a causal attention are one sequence.
bool SequenceFollower::takeAttention(AttentionOp attention) {
  const ShardingRule &rule = getRule(attention);
  std::optional<int> queries = rule.findFactor("s"),
                     keys = rule.findFactor("t");
  if (!queries || !keys || attention.getQueryOffset() ||
      rule.factors[*queries].size != rule.factors[*keys].size)
    return fail(attention, "its queries are not its keys");
  if (rule.factors[*queries].size % (2 * ranks) != 0)
    return fail(attention,
                Twine(rule.factors[*queries].size) +
                    " positions are no two equal chunks for each of " +
                    Twine(ranks) + " ranks");
  return take(attention, *queries) && take(attention, *keys);
}

bool SequenceFollower::take(Operation *op, int factor) {
  const ShardingRule &rule = getRule(op);
  llvm::SmallBitVector &own = factors[op];
  own.resize(rule.factors.size());
  if (own.test(factor))
    return true;
  own.set(factor);
  // Attention is told of the order.
  const Factor &description = rule.factors[factor];
  if (description.kind == FactorKind::blocked ||
      (description.isNumbered && !isa<AttentionOp>(op)))
    return fail(op, "it depends on the order of the sequence");
  auto takeDims = [&](const TensorFactors &tensor, Value value) {
    for (auto [dim, indices] : llvm::enumerate(tensor)) {
      if (!llvm::is_contained(indices, factor))
        continue;
      if (indices.size() != 1)
        return fail(op, "it joins the sequence with other dimensions");
      if (!isSource(value) &&
          places.insert({value, static_cast<unsigned>(dim)}))
        open.emplace_back(value, static_cast<unsigned>(dim));
    }
    return true;
  };
  for (auto [tensor, operand] :
       llvm::zip_equal(rule.operands, op->getOperands()))
    if (!takeDims(tensor, operand))
      return false;
  for (auto [tensor, result] : llvm::zip_equal(rule.results, op->getResults()))
    if (!takeDims(tensor, result))
      return false;
  return true;
}

bool SequenceFollower::takeFrom(Operation *op, const TensorFactors &tensor,
                                unsigned dim) {
  if (tensor[dim].size() != 1)
    return fail(op, "it joins the sequence with other dimensions");
  return take(op, tensor[dim].front());
}

static bool isBatch(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return static_cast<bool>(
      function.getArgAttr(argument.getArgNumber(), attributes::batch));
}

/// Takes the sequence to what makes a value and to all that read it.
bool SequenceFollower::follow(Value value, unsigned dim) {
  auto result = dyn_cast<OpResult>(value);
  if (result &&
      !takeFrom(result.getOwner(),
                getRule(result.getOwner()).results[result.getResultNumber()],
                dim))
    return false;
  if (!result && dim == 0 && isBatch(cast<BlockArgument>(value)))
    return fail(nullptr, "the batch is the sequence");
  for (OpOperand &use : value.getUses())
    if (!isa<func::ReturnOp>(use.getOwner()) &&
        !takeFrom(use.getOwner(),
                  getRule(use.getOwner()).operands[use.getOperandNumber()],
                  dim))
      return false;
  return true;
}

} // namespace parplan::order
