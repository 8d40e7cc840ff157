//===- TestRules.cpp - Sharding rules of the tests ------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestRules.h"

namespace parplan::test {

ShardingRule getMatmulRule(int64_t m, int64_t k, int64_t n) {
  ShardingRule rule;
  rule.factors = {{"m", m, FactorKind::parallel},
                  {"k", k, FactorKind::reduceSum},
                  {"n", n, FactorKind::parallel}};
  rule.operands = {{{0}, {1}}, {{1}, {2}}};
  rule.results = {{{0}, {2}}};
  rule.linearity = Linearity::separately;
  return rule;
}

ShardingRule getBiasRule(int64_t b, int64_t d) {
  ShardingRule rule;
  rule.factors = {{"b", b}, {"d", d}};
  rule.operands = {{{0}, {1}}, {{1}}};
  rule.results = {{{0}, {1}}};
  rule.linearity = Linearity::jointly;
  return rule;
}

ShardingRule getGroupedRule(int64_t g, int64_t r) {
  ShardingRule rule;
  rule.factors = {{"s", 6}, {"g", g}, {"r", r, FactorKind::reduceSum}};
  rule.operands = {{{0}, {1, 2}}};
  rule.results = {{{0}, {1}}};
  rule.linearity = Linearity::jointly;
  return rule;
}

ShardingRule getUpdateRule(int64_t a, int64_t b) {
  ShardingRule rule;
  rule.factors = {{"a", a}, {"b", b}};
  rule.operands = {{{0}, {1}}, {{0}, {1}}, {{0}, {1}}, {}};
  rule.results = {{{0}, {1}}, {{0}, {1}}};
  rule.flat = true;
  return rule;
}

ShardingRule getTotalRule(int64_t a, int64_t b) {
  ShardingRule rule;
  rule.factors = {{"a", a, FactorKind::reduceSum},
                  {"b", b, FactorKind::reduceSum}};
  rule.operands = {{{0}, {1}}};
  rule.results = {{}};
  rule.flat = true;
  return rule;
}

ShardingRule getMaximumRule() {
  ShardingRule rule;
  rule.factors = {{"m", 8}, {"k", 8, FactorKind::reduceMax}};
  rule.operands = {{{0}, {1}}};
  rule.results = {{{0}}};
  return rule;
}

FactorAssignment assign(const ShardingRule &rule, const Mesh &mesh,
                        llvm::StringRef text, llvm::StringRef pending) {
  auto assignment = FactorAssignment::getReplicated(rule);
  while (!text.empty()) {
    auto [word, rest] = text.split(' ');
    auto [factor, axes] = word.split(':');
    llvm::SmallVector<llvm::StringRef> names;
    axes.split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (llvm::StringRef name : names)
      assignment.axes[*rule.findFactor(factor)].push_back(*mesh.findAxis(name));
    text = rest;
  }
  if (!pending.empty())
    assignment.pending = makeAxes(pending, mesh);
  return assignment;
}

} // namespace parplan::test
