//===- OperatorForms.h - Operators in all their forms, as tables *- C++ -*-===//
//
// Part of parplan. One line of a table per form: a graph and what it becomes.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_IMPORT_OPERATORFORMS_H
#define PARPLAN_TEST_UNIT_IMPORT_OPERATORFORMS_H

#include <gtest/gtest.h>

#include <string>

namespace parplan::test {

struct Form {
  const char *name;
  int opset;
  const char *graph;
  /// The printed graph, or a code of a diagnostic.
  std::string expected;
};

inline void PrintTo(const Form &form, std::ostream *out) { *out << form.name; }

class OperatorForms : public testing::TestWithParam<Form> {};

inline std::string printName(const testing::TestParamInfo<Form> &info) {
  return info.param.name;
}

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_IMPORT_OPERATORFORMS_H
