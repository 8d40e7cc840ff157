//===- RuleBuilder.h - Writes sharding rules --------------------*- C++ -*-===//
//
// Part of parplan. Private to the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_RULEBUILDER_H
#define PARPLAN_DIALECTS_PARPLAN_RULEBUILDER_H

#include "dialects/parplan/Inference.h"
#include "dialects/parplan/ParplanOps.h"

#include "llvm/ADT/Twine.h"

namespace parplan {

/// Builds the rule of an op factor by factor. Every dimension of every operand
/// and result starts without factors. Dimensions of one element never get one:
/// `add` returns `none` for size 1, and mapping `none` does nothing.
class RuleBuilder {
public:
  static constexpr int none = -1;

  explicit RuleBuilder(mlir::Operation *op);

  /// Declares a factor and returns its index.
  int add(const llvm::Twine &name, int64_t size,
          FactorKind kind = FactorKind::parallel);

  /// Says that the op depends on the numbers of the factor's elements.
  void number(int factor);

  /// Appends the factor to a dimension, at its minor end.
  RuleBuilder &operand(unsigned operand, int64_t dim, int factor);
  RuleBuilder &result(unsigned result, int64_t dim, int factor);

  /// A factor of a dimension of operand 0 that result 0 has too.
  int addParallel(const llvm::Twine &name, int64_t operandDim,
                  int64_t resultDim);

  /// Gives dimensions that still have no factor a blocked one of their own, so
  /// that local sizes are complete; returns the rule.
  ShardingRule finish(Linearity linearity = Linearity::none);

private:
  ShardingRule rule;
  llvm::SmallVector<Shape, 3> operandShapes;
  llvm::SmallVector<Shape, 1> resultShapes;
};

/// `coefficient` per element of a tensor with these factors.
WorkTerm termOver(double coefficient, const TensorFactors &tensor);
/// `coefficient` per point of the space of all factors.
WorkTerm termOverAll(double coefficient, const ShardingRule &rule);

/// True when a dimension of the tensor is indexed by `factor`.
bool hasFactor(const TensorFactors &tensor, int factor);

/// Work that only moves bytes.
OpWork getCopyWork();
/// One operation per element of operand 0.
OpWork getReductionWork(const ShardingRule &rule, double flopsPerElement,
                        double transcendentalsPerElement = 0);

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_RULEBUILDER_H
