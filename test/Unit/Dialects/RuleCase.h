//===- RuleCase.h - Rules of ops, as tables ---------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_DIALECTS_RULECASE_H
#define PARPLAN_TEST_UNIT_DIALECTS_RULECASE_H

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace parplan::test {

struct RuleCase {
  const char *name;
  std::string op;
  std::vector<std::string> arguments;
  /// Factors with sizes and kinds, and whether their elements have numbers;
  /// dimensions of operands and results, and how the op is linear.
  std::string rule;
  /// Factors that keep padding zero (S4).
  std::string kept;
};

inline void PrintTo(const RuleCase &one, std::ostream *out) {
  *out << one.name;
}

/// The tables are where the ops of their families are tested.
class Rules : public testing::TestWithParam<RuleCase> {};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_DIALECTS_RULECASE_H
