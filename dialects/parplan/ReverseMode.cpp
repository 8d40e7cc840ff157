//===- ReverseMode.cpp - Gradients of a list of ops -----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ReverseMode.h"

#include "dialects/parplan/GradientBuilder.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace parplan {
namespace {

bool isFloat(Value value) {
  return isa<FloatType>(getTensorType(value).getElementType());
}

/// One walk from the seeds to the wanted values.
class Sweep {
public:
  Sweep(OpBuilder &builder, const ReverseMode &mode, ArrayRef<Value> wanted)
      : builder(builder), mode(mode), wanted(wanted.begin(), wanted.end()),
        active(wanted.begin(), wanted.end()) {}

  Gradients run(ArrayRef<Operation *> ops,
                ArrayRef<std::pair<Value, Value>> seeds) {
    for (Operation *op : ops)
      classify(op);
    for (auto [value, gradient] : seeds)
      add(value, gradient);
    for (Operation *op : llvm::reverse(ops))
      visit(op);
    for (Value value : wanted)
      if (Value gradient = take(value))
        found.of[value] = gradient;
    return std::move(found);
  }

private:
  /// A result is active if a wanted value reaches it, and a weight if its
  /// operands are.
  void classify(Operation *op) {
    bool isActive = llvm::any_of(op->getOperands(), [&](Value operand) {
      return active.contains(operand) && isFloat(operand);
    });
    bool isFromWeights = llvm::all_of(
        op->getOperands(), [&](Value operand) { return isWeight(operand); });
    for (Value result : op->getResults()) {
      if (isActive && isFloat(result))
        active.insert(result);
      weights[result] = isFromWeights;
    }
  }

  bool isWeight(Value value) const {
    auto known = weights.find(value);
    if (known != weights.end())
      return known->second;
    if (mode.isWeight)
      return mode.isWeight(value);
    Operation *maker = value.getDefiningOp();
    return maker && maker->getNumOperands() == 0;
  }

  void add(Value value, Value gradient) {
    if (!active.contains(value))
      return;
    PARPLAN_CHECK(value.getType() == gradient.getType(),
                  "a gradient with another type than its value");
    parts[value].push_back(gradient);
  }

  /// The sum of what has come in for `value`, or null. The uses of a value lie
  /// behind the op that makes it, so nothing more can come.
  Value take(Value value) {
    auto found = parts.find(value);
    if (found == parts.end())
      return {};
    SmallVector<Value, 2> &terms = found->second;
    if (terms.size() > 1) {
      auto sum = builder.create<SumOp>(value.getLoc(), value.getType(), terms);
      sum->setAttr(attributes::role, builder.getStringAttr(roles::gradientSum));
      if (mode.onSum)
        mode.onSum(value, sum);
      terms.assign(1, sum.getResult());
    }
    return terms.front();
  }

  void visit(Operation *op) {
    SmallVector<GradientNeed> needs = getNeeds(op);
    if (llvm::all_of(needs, [](GradientNeed need) {
          return need == GradientNeed::none;
        }))
      return;
    SmallVector<Value> gradients;
    for (Value result : op->getResults())
      gradients.push_back(take(result));
    if (llvm::none_of(gradients, [](Value gradient) -> bool {
          return static_cast<bool>(gradient);
        }))
      return;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable) {
      found.missing.push_back(op);
      return;
    }
    GradientBuilder gradientBuilder(builder, op, needs);
    OperandGradients answer =
        differentiable.buildBackward(gradientBuilder, gradients);
    PARPLAN_CHECK(answer.size() == op->getNumOperands(), answer.size(),
                  " gradients for ", op->getNumOperands(), " operands of ",
                  std::string_view(op->getName().getStringRef()));
    if (mode.onBackward)
      mode.onBackward(op, gradientBuilder.getMade());
    for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), answer))
      if (gradient)
        add(operand, gradient);
  }

  SmallVector<GradientNeed> getNeeds(Operation *op) const {
    SmallVector<GradientNeed> needs;
    for (Value operand : op->getOperands())
      needs.push_back(!active.contains(operand) || !isFloat(operand)
                          ? GradientNeed::none
                      : isWeight(operand) ? GradientNeed::weight
                                          : GradientNeed::input);
    return needs;
  }

  OpBuilder &builder;
  const ReverseMode &mode;
  llvm::SetVector<Value> wanted;
  llvm::DenseSet<Value> active;
  DenseMap<Value, bool> weights;
  DenseMap<Value, SmallVector<Value, 2>> parts;
  Gradients found;
};

} // namespace

Gradients differentiate(OpBuilder &builder, ArrayRef<Operation *> ops,
                        ArrayRef<std::pair<Value, Value>> seeds,
                        ArrayRef<Value> wanted, const ReverseMode &mode) {
  return Sweep(builder, mode, wanted).run(ops, seeds);
}

} // namespace parplan
