//===- GradientCases.h - Ops to differentiate -------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_GRADIENTS_GRADIENTCASES_H
#define PARPLAN_TEST_UNIT_GRADIENTS_GRADIENTCASES_H

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace parplan::test {

/// One op of one result or more, %0, %1, .. its arguments.
struct GradientCase {
  std::string name;
  std::string op;
  std::vector<std::string> arguments;
  /// Elements of float arguments are drawn from here.
  double low = -2, high = 2;
  /// They are at least this far from zero, unless `zeros` says otherwise.
  double distance = 0;
  /// Elements of other arguments, over and over.
  std::vector<int64_t> integers = {0};
  /// The first elements of float arguments are zero.
  int64_t zeros = 0;
  /// Nothing but the first result has a cotangent.
  bool onlyFirst = false;
};

inline void PrintTo(const GradientCase &one, std::ostream *out) {
  *out << one.name;
}

std::vector<GradientCase> getElementwiseCases();
std::vector<GradientCase> getShapeCases();
std::vector<GradientCase> getProductCases();
std::vector<GradientCase> getCompositeCases();
std::vector<GradientCase> getTrainingCases();
std::vector<GradientCase> getExpertCases();
std::vector<GradientCase> getAllCases();

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_GRADIENTS_GRADIENTCASES_H
