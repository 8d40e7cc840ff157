//===- RuleBuilder.cpp - Writes sharding rules ----------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/RuleBuilder.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace parplan {

RuleBuilder::RuleBuilder(Operation *op) {
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> shape = getShape(operand);
    operandShapes.emplace_back(shape);
    rule.operands.emplace_back().resize(shape.size());
  }
  for (Value result : op->getResults()) {
    ArrayRef<int64_t> shape = getShape(result);
    resultShapes.emplace_back(shape);
    rule.results.emplace_back().resize(shape.size());
  }
}

int RuleBuilder::add(const Twine &name, int64_t size, FactorKind kind) {
  if (size == 1)
    return none;
  rule.factors.push_back({name.str(), size, kind, /*isNumbered=*/false});
  return static_cast<int>(rule.factors.size()) - 1;
}

void RuleBuilder::number(int factor) {
  if (factor != none)
    rule.factors[factor].isNumbered = true;
}

RuleBuilder &RuleBuilder::operand(unsigned operand, int64_t dim, int factor) {
  if (factor != none)
    rule.operands[operand][dim].push_back(factor);
  return *this;
}

RuleBuilder &RuleBuilder::result(unsigned result, int64_t dim, int factor) {
  if (factor != none)
    rule.results[result][dim].push_back(factor);
  return *this;
}

int RuleBuilder::addParallel(const Twine &name, int64_t operandDim,
                             int64_t resultDim) {
  int factor = add(name, operandShapes[0][operandDim]);
  operand(0, operandDim, factor).result(0, resultDim, factor);
  return factor;
}

ShardingRule RuleBuilder::finish(Linearity linearity) {
  auto fill = [&](StringRef kind, auto &tensors, ArrayRef<Shape> shapes) {
    for (auto [tensor, shape] : llvm::enumerate(shapes))
      for (auto [dim, size] : llvm::enumerate(shape)) {
        DimFactors &factors = tensors[tensor][dim];
        int64_t product = 1;
        for (int factor : factors)
          product *= rule.factors[factor].size;
        if (factors.empty() && size != 1)
          factors.push_back(add(kind + Twine(tensor) + "_" + Twine(dim), size,
                                FactorKind::blocked));
        else
          PARPLAN_CHECK(product == size, "factors of dimension ", dim,
                        " of tensor ", tensor, " have the product ", product,
                        ", not ", size);
      }
  };
  fill("in", rule.operands, operandShapes);
  fill("out", rule.results, resultShapes);
  rule.linearity = linearity;
  return std::move(rule);
}

WorkTerm termOver(double coefficient, const TensorFactors &tensor) {
  WorkTerm term{coefficient, {}};
  for (const DimFactors &dim : tensor)
    term.factors.append(dim.begin(), dim.end());
  return term;
}

WorkTerm termOverAll(double coefficient, const ShardingRule &rule) {
  WorkTerm term{coefficient, {}};
  for (size_t factor = 0; factor < rule.factors.size(); ++factor)
    term.factors.push_back(static_cast<int>(factor));
  return term;
}

bool hasFactor(const TensorFactors &tensor, int factor) {
  return llvm::any_of(tensor, [&](const DimFactors &dim) {
    return llvm::is_contained(dim, factor);
  });
}

OpWork getCopyWork() {
  OpWork work;
  work.kind = WorkKind::copy;
  return work;
}

OpWork getReductionWork(const ShardingRule &rule, double flopsPerElement,
                        double transcendentalsPerElement) {
  OpWork work;
  work.kind = WorkKind::reduction;
  work.flops.push_back(termOver(flopsPerElement, rule.operands[0]));
  if (transcendentalsPerElement != 0)
    work.transcendentals.push_back(
        termOver(transcendentalsPerElement, rule.operands[0]));
  return work;
}

} // namespace parplan
