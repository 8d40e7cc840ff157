//===- OpCost.cpp - The work of one device from factor sizes --------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/CostModel/OpCost.h"
#include "parplan/Support/Check.h"

#include <cmath>

using namespace parplan;

namespace {

double multiply(llvm::ArrayRef<int> factors, llvm::ArrayRef<int64_t> sizes) {
  double product = 1;
  for (int factor : factors)
    product *= static_cast<double>(sizes[factor]);
  return product;
}

double evaluate(llvm::ArrayRef<WorkTerm> terms, llvm::ArrayRef<int64_t> sizes) {
  double sum = 0;
  for (const WorkTerm &term : terms)
    sum += term.coefficient * multiply(term.factors, sizes);
  return sum;
}

int64_t countBytes(llvm::ArrayRef<TensorFactors> tensors,
                   llvm::ArrayRef<int64_t> sizes,
                   llvm::ArrayRef<int64_t> elementBytes) {
  PARPLAN_CHECK(tensors.size() == elementBytes.size(), tensors.size(),
                " tensors, ", elementBytes.size(), " element sizes");
  double bytes = 0;
  for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    double elements = 1;
    for (const DimFactors &dim : tensors[tensor])
      elements *= multiply(dim, sizes);
    bytes += elements * static_cast<double>(elementBytes[tensor]);
  }
  return static_cast<int64_t>(bytes);
}

/// Whether rows of 16-bit matrices, as the last dimensions of tensors are laid
/// out, have multiples of 16 bytes. A dimension that is none of the product's
/// own (windows of a convolution) says nothing.
bool hasAlignedRows(const OpWork &work, llvm::ArrayRef<TensorFactors> tensors,
                    llvm::ArrayRef<int64_t> sizes,
                    llvm::ArrayRef<int64_t> elementBytes) {
  for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    if (elementBytes[tensor] != 2 || tensors[tensor].size() < 2)
      continue;
    const DimFactors &row = tensors[tensor].back();
    bool isSide =
        row == work.rows || row == work.columns || row == work.contracted;
    if (isSide && static_cast<int64_t>(multiply(row, sizes)) % 8 != 0)
      return false;
  }
  return true;
}

} // namespace

int64_t parplan::getMeanSize(int64_t size, double share) {
  // Rounded up, so that parts have no fewer than the whole, but for what a
  // product of doubles has too much.
  return static_cast<int64_t>(
      std::ceil(share * static_cast<double>(size) * (1 - 1e-12)));
}

OpCost parplan::evaluateWork(const OpWork &work, const ShardingRule &rule,
                             llvm::ArrayRef<int64_t> localFactorSizes,
                             llvm::ArrayRef<int64_t> operandElementBytes,
                             llvm::ArrayRef<int64_t> resultElementBytes) {
  PARPLAN_CHECK(localFactorSizes.size() == rule.factors.size(),
                localFactorSizes.size(), " sizes for ", rule.factors.size(),
                " factors");
  OpCost cost;
  cost.kind = work.kind;
  cost.flops = evaluate(work.flops, localFactorSizes);
  cost.transcendentals = evaluate(work.transcendentals, localFactorSizes);
  cost.bytesRead =
      countBytes(rule.operands, localFactorSizes, operandElementBytes);
  cost.bytesWritten =
      countBytes(rule.results, localFactorSizes, resultElementBytes);
  // A product without a factor of some role has size one there: a vector.
  bool hasShape = !work.rows.empty() || !work.columns.empty() ||
                  !work.contracted.empty() || !work.batch.empty();
  if (hasShape) {
    auto size = [&](llvm::ArrayRef<int> factors) {
      return static_cast<int64_t>(multiply(factors, localFactorSizes));
    };
    cost.rows = getMeanSize(size(work.rows), work.rowShare);
    cost.columns = size(work.columns);
    cost.contracted = getMeanSize(size(work.contracted), work.contractedShare);
    cost.batch = size(work.batch);
    cost.isAligned = hasAlignedRows(work, rule.operands, localFactorSizes,
                                    operandElementBytes) &&
                     hasAlignedRows(work, rule.results, localFactorSizes,
                                    resultElementBytes);
  }
  return cost;
}
