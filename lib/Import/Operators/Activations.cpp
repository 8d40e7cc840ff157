//===- Activations.cpp - Activation functions ------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Formula.h"
#include "lib/Import/Operators/OperatorTable.h"

namespace parplan::importer {

static void importGelu(NodeContext &node) {
  std::string approximate = node.getText("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    failNode(codes::badNode, "approximate is neither none nor tanh");
  node.setOutput(0, node.builder.gelu(node.getInput(0), approximate == "tanh"));
}

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

static void importSelu(NodeContext &node) {
  Formula formula(node);
  ValueId x = node.getInput(0);
  double alpha = node.getReal("alpha", double(1.67326319217681884765625f));
  double gamma = node.getReal("gamma", double(1.05070102214813232421875f));
  ValueId negative =
      formula.scale(formula.shift(formula.expOfNegative(x), -1), alpha);
  node.setOutput(0, formula.scale(formula.choose(x, x, negative), gamma));
}

static void importCelu(NodeContext &node) {
  Formula formula(node);
  ValueId x = node.getInput(0);
  double alpha = node.getReal("alpha", 1.0);
  if (alpha == 0)
    failNode(codes::badNode, "alpha is 0");
  // max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)
  ValueId falling = formula.scale(
      formula.shift(formula.expOfNegative(formula.scale(x, 1 / alpha)), -1),
      alpha);
  node.setOutput(0, formula.add(formula.max(x, 0), formula.min(falling, 0)));
}

static void importThresholdedRelu(NodeContext &node) {
  Formula formula(node);
  ValueId x = node.getInput(0);
  ValueId isAbove = node.builder.compare(
      Predicate::gt, x, formula.number(node.getReal("alpha", 1.0)));
  node.setOutput(0, node.builder.select(isAbove, x, formula.number(0)));
}

/// x outside of [-lambd, lambd], moved towards zero by the bias; zero within.
static void importShrink(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId x = node.getInput(0);
  ElementType type = builder.getType(x);
  double bias = node.getReal("bias", 0), limit = node.getReal("lambd", 0.5);
  if (!isFloat(type))
    failNode(codes::unsupportedForm, "operand of type ",
             printElementType(type));
  Formula formula(node);
  ValueId isAbove = builder.compare(Predicate::gt, x, formula.number(limit));
  ValueId isBelow = builder.compare(Predicate::lt, x, formula.number(-limit));
  node.setOutput(0,
                 builder.select(isBelow, formula.shift(x, bias),
                                builder.select(isAbove, formula.shift(x, -bias),
                                               formula.number(0))));
}

static void importPRelu(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId x = node.getInput(0);
  ValueId scaled = builder.binary(OpKind::mul, x, node.getInput(1));
  if (builder.getShape(scaled) != builder.getShape(x))
    failNode(codes::badNode, "slope of shape ",
             printShape(builder.getShape(node.getInput(1))));
  ValueId zero = builder.makeNumber(builder.getType(x), 0);
  node.setOutput(
      0, builder.select(builder.compare(Predicate::lt, x, zero), scaled, x));
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
      {"Selu", {6, 22}, lowered, importSelu, "exponential and a choice"},
      {"Celu", {12}, lowered, importCelu, "exponential and a choice"},
      {"ThresholdedRelu", {10, 22}, lowered, importThresholdedRelu, "a choice"},
      {"Shrink", {9}, lowered, importShrink, "choices"},
      {"PRelu", {7, 9, 16}, lowered, importPRelu, "a choice"},
  };
  return entries;
}

} // namespace parplan::importer
