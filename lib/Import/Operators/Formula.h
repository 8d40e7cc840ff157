//===- Formula.h - Arithmetic with numbers of one type ----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_OPERATORS_FORMULA_H
#define PARPLAN_LIB_IMPORT_OPERATORS_FORMULA_H

#include "lib/Import/Operators/NodeContext.h"

namespace parplan::importer {

/// Formulas read better with numbers of the operand's type at hand.
struct Formula {
  GraphBuilder &builder;
  ElementType type;

  Formula(GraphBuilder &builder, ElementType type)
      : builder(builder), type(type) {
    if (!isFloat(type))
      failNode(codes::badNode, "operand of type ", printElementType(type));
  }
  explicit Formula(NodeContext &node)
      : Formula(node.builder, node.builder.getType(node.getInput(0))) {}

  ValueId number(double value) const { return builder.makeNumber(type, value); }
  ValueId binary(OpKind kind, ValueId left, ValueId right) const {
    return builder.binary(kind, left, right);
  }
  ValueId add(ValueId left, ValueId right) const {
    return binary(OpKind::add, left, right);
  }
  ValueId sub(ValueId left, ValueId right) const {
    return binary(OpKind::sub, left, right);
  }
  ValueId mul(ValueId left, ValueId right) const {
    return binary(OpKind::mul, left, right);
  }
  ValueId div(ValueId left, ValueId right) const {
    return binary(OpKind::div, left, right);
  }
  ValueId scale(ValueId value, double factor) const {
    return mul(value, number(factor));
  }
  ValueId shift(ValueId value, double amount) const {
    return add(value, number(amount));
  }
  ValueId max(ValueId value, double limit) const {
    return binary(OpKind::max, value, number(limit));
  }
  ValueId min(ValueId value, double limit) const {
    return binary(OpKind::min, value, number(limit));
  }
  ValueId unary(OpKind kind, ValueId value) const {
    return builder.unary(kind, value);
  }
  ValueId power(ValueId base, double exponent) const {
    return binary(OpKind::pow, base, number(exponent));
  }
  /// onPositive where x > 0, else otherwise.
  ValueId choose(ValueId x, ValueId onPositive, ValueId otherwise) const {
    return builder.select(builder.compare(Predicate::gt, x, number(0)),
                          onPositive, otherwise);
  }
  /// exp(min(x, 0)): the exponential of a branch that large x must not reach.
  ValueId expOfNegative(ValueId x) const {
    return unary(OpKind::exp, min(x, 0));
  }
  /// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))
  ValueId softplus(ValueId x) const {
    ValueId magnitude = unary(OpKind::abs, x);
    ValueId small = unary(OpKind::exp, unary(OpKind::neg, magnitude));
    return add(max(x, 0), unary(OpKind::log, shift(small, 1)));
  }
  /// min(max(alpha x + beta, 0), 1)
  ValueId hardSigmoid(ValueId x, double alpha, double beta) const {
    return min(max(shift(scale(x, alpha), beta), 0), 1);
  }
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_OPERATORS_FORMULA_H
