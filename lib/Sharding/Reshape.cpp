//===- Reshape.cpp - Which splits a reshape keeps -------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Sharding/ShardingRule.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Sizes.h"

#include <numeric>

namespace parplan {

namespace {

/// Walks both shapes from the major end. `fromRest` and `toRest` are what the
/// factors found so far leave of the current dimensions. Both zero at a
/// boundary: the dimensions before it hold the same elements.
class Refinement {
public:
  Refinement(llvm::ArrayRef<int64_t> fromShape, llvm::ArrayRef<int64_t> toShape)
      : from(fromShape), to(toShape) {
    rule.operands.resize(1);
    rule.results.resize(1);
    rule.operands[0].resize(from.size());
    rule.results[0].resize(to.size());
    rule.linearity = Linearity::jointly;
  }

  ShardingRule build() {
    while (skipUnits()) {
      int64_t common = std::gcd(fromRest, toRest);
      if (common == 1)
        blockGroup();
      else
        addFactor(common);
    }
    return std::move(rule);
  }

private:
  /// Moves past dimensions that are used up or of size one. False at the end.
  bool skipUnits() {
    while (fromRest == 1 && fromDim + 1 < static_cast<int>(from.size()))
      fromRest = from[++fromDim];
    while (toRest == 1 && toDim + 1 < static_cast<int>(to.size()))
      toRest = to[++toDim];
    return fromRest != 1 || toRest != 1;
  }

  /// The next `size` steps of both dimensions are the same index.
  void addFactor(int64_t size) {
    int factor = newFactor(size, FactorKind::parallel);
    rule.operands[0][fromDim].push_back(factor);
    rule.results[0][toDim].push_back(factor);
    fromRest /= size;
    toRest /= size;
  }

  /// S10: nothing from here to the next common boundary can be split, because
  /// what precedes it in its group never is. What is left of every dimension
  /// becomes a blocked factor of its own, so that sizes stay products.
  void blockGroup() {
    int64_t left = fromRest, right = toRest;
    blockDim(rule.operands[0][fromDim], fromRest);
    blockDim(rule.results[0][toDim], toRest);
    while (left != right) {
      if (left < right) {
        fromRest = from[++fromDim];
        left *= fromRest;
        blockDim(rule.operands[0][fromDim], fromRest);
      } else {
        toRest = to[++toDim];
        right *= toRest;
        blockDim(rule.results[0][toDim], toRest);
      }
    }
  }

  void blockDim(DimFactors &dim, int64_t &rest) {
    if (rest != 1)
      dim.push_back(newFactor(rest, FactorKind::blocked));
    rest = 1;
  }

  int newFactor(int64_t size, FactorKind kind) {
    int factor = static_cast<int>(rule.factors.size());
    rule.factors.push_back({"f" + std::to_string(factor), size, kind});
    return factor;
  }

  llvm::ArrayRef<int64_t> from, to;
  ShardingRule rule;
  int fromDim = -1, toDim = -1;
  int64_t fromRest = 1, toRest = 1;
};

/// Blocked factors for all dimensions of shapes without elements.
ShardingRule getEmptyReshapeRule(llvm::ArrayRef<int64_t> from,
                                 llvm::ArrayRef<int64_t> to) {
  ShardingRule rule;
  rule.linearity = Linearity::jointly;
  auto block = [&](llvm::ArrayRef<int64_t> shape) {
    TensorFactors tensor;
    for (int64_t size : shape) {
      DimFactors &dim = tensor.emplace_back();
      if (size == 1)
        continue;
      dim.push_back(static_cast<int>(rule.factors.size()));
      rule.factors.push_back({"f" + std::to_string(rule.factors.size()), size,
                              FactorKind::blocked});
    }
    return tensor;
  };
  rule.operands.push_back(block(from));
  rule.results.push_back(block(to));
  return rule;
}

} // namespace

ShardingRule getReshapeRule(llvm::ArrayRef<int64_t> from,
                            llvm::ArrayRef<int64_t> to) {
  int64_t elements = multiplySizes(from);
  PARPLAN_CHECK(elements == multiplySizes(to), "a reshape of ", elements,
                " elements to ", multiplySizes(to));
  if (elements == 0)
    return getEmptyReshapeRule(from, to);
  return Refinement(from, to).build();
}

} // namespace parplan
