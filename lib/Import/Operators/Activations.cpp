//===- Activations.cpp - Activation functions ------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

namespace parplan::importer {

template <OpKind kind> static void importUnary(NodeContext &node) {
  node.setOutput(0, node.builder.unary(kind, node.getInput(0)));
}

static void importGelu(NodeContext &node) {
  std::string approximate = node.getText("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    failNode(codes::badNode, "approximate is neither none nor tanh");
  node.setOutput(0, node.builder.gelu(node.getInput(0), approximate == "tanh"));
}

namespace {
/// Formulas read better with numbers of the operand's type at hand.
struct Formula {
  GraphBuilder &builder;
  ElementType type;

  explicit Formula(NodeContext &node)
      : builder(node.builder), type(node.builder.getType(node.getInput(0))) {
    if (!isFloat(type))
      failNode(codes::badNode, "operand of type ", printElementType(type));
  }
  ValueId number(double value) const { return builder.makeNumber(type, value); }
  ValueId binary(OpKind kind, ValueId left, ValueId right) const {
    return builder.binary(kind, left, right);
  }
  ValueId scale(ValueId value, double factor) const {
    return binary(OpKind::mul, value, number(factor));
  }
  ValueId shift(ValueId value, double amount) const {
    return binary(OpKind::add, value, number(amount));
  }
  /// onPositive where x > 0, else otherwise.
  ValueId choose(ValueId x, ValueId onPositive, ValueId otherwise) const {
    return builder.select(builder.compare(Predicate::gt, x, number(0)),
                          onPositive, otherwise);
  }
  /// exp(min(x, 0)): the exponential of a branch that large x must not reach.
  ValueId expOfNegative(ValueId x) const {
    return builder.unary(OpKind::exp, binary(OpKind::min, x, number(0)));
  }
  /// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))
  ValueId softplus(ValueId x) const {
    ValueId magnitude = builder.unary(OpKind::abs, x);
    ValueId small =
        builder.unary(OpKind::exp, builder.unary(OpKind::neg, magnitude));
    return binary(OpKind::add, binary(OpKind::max, x, number(0)),
                  builder.unary(OpKind::log, shift(small, 1)));
  }
  /// min(max(alpha x + beta, 0), 1)
  ValueId hardSigmoid(ValueId x, double alpha, double beta) const {
    return binary(OpKind::min,
                  binary(OpKind::max, shift(scale(x, alpha), beta), number(0)),
                  number(1));
  }
};
} // namespace

static void importLeakyRelu(NodeContext &node) {
  Formula formula(node);
  ValueId x = node.getInput(0);
  double alpha = node.getReal("alpha", double(0.01f));
  node.setOutput(0, formula.choose(x, x, formula.scale(x, alpha)));
}

static void importElu(NodeContext &node) {
  Formula formula(node);
  ValueId x = node.getInput(0);
  ValueId negative = formula.scale(formula.shift(formula.expOfNegative(x), -1),
                                   node.getReal("alpha", 1.0));
  node.setOutput(0, formula.choose(x, x, negative));
}

static void importHardSigmoid(NodeContext &node) {
  Formula formula(node);
  node.setOutput(0, formula.hardSigmoid(node.getInput(0),
                                        node.getReal("alpha", double(0.2f)),
                                        node.getReal("beta", 0.5)));
}

static void importHardSwish(NodeContext &node) {
  Formula formula(node);
  ValueId x = node.getInput(0);
  node.setOutput(0, formula.binary(OpKind::mul, x,
                                   formula.hardSigmoid(x, 1.0 / 6.0, 0.5)));
}

static void importSoftplus(NodeContext &node) {
  node.setOutput(0, Formula(node).softplus(node.getInput(0)));
}

static void importSoftsign(NodeContext &node) {
  Formula formula(node);
  ValueId x = node.getInput(0);
  ValueId below = formula.shift(node.builder.unary(OpKind::abs, x), 1);
  node.setOutput(0, formula.binary(OpKind::div, x, below));
}

static void importMish(NodeContext &node) {
  Formula formula(node);
  ValueId x = node.getInput(0);
  ValueId gate = node.builder.unary(OpKind::tanh, formula.softplus(x));
  node.setOutput(0, formula.binary(OpKind::mul, x, gate));
}

static void importSwish(NodeContext &node) {
  Formula formula(node);
  ValueId x = node.getInput(0);
  double alpha = node.getReal("alpha", 1.0);
  if (alpha == 1.0) {
    node.setOutput(0, node.builder.unary(OpKind::silu, x));
    return;
  }
  ValueId gate = node.builder.unary(OpKind::sigmoid, formula.scale(x, alpha));
  node.setOutput(0, formula.binary(OpKind::mul, x, gate));
}

llvm::ArrayRef<OperatorEntry> getActivationOperators() {
  constexpr Support direct = Support::direct, lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"Relu", {6, 13, 14}, direct, importUnary<OpKind::relu>},
      {"Sigmoid", {6, 13}, direct, importUnary<OpKind::sigmoid>},
      {"Tanh", {6, 13}, direct, importUnary<OpKind::tanh>},
      {"Gelu", {20}, direct, importGelu},
      {"Swish", {24}, direct, importSwish, "silu for alpha 1"},
      {"LeakyRelu", {6, 16}, lowered, importLeakyRelu, "a choice"},
      {"Elu", {6, 22}, lowered, importElu, "exponential and a choice"},
      {"HardSigmoid", {6, 22}, lowered, importHardSigmoid, "arithmetic"},
      {"HardSwish", {14, 22}, lowered, importHardSwish, "arithmetic"},
      {"Softplus", {1, 22}, lowered, importSoftplus, "arithmetic"},
      {"Softsign", {1, 22}, lowered, importSoftsign, "arithmetic"},
      {"Mish", {18, 22}, lowered, importMish, "arithmetic"},
  };
  return entries;
}

} // namespace parplan::importer
