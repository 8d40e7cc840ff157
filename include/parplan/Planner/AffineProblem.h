//===- AffineProblem.h - Problems that differ in sizes alone ----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// Example: a product reads [b, 64] and makes [b, 256], of micro-batches of b
// samples. Its steps for b = 2 and b = 3 have the factor m = 2 and m = 3, so
// that with b samples it is m = 2 + (b - 2) * 1, and the rest as it is.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_AFFINEPROBLEM_H
#define PARPLAN_PLANNER_AFFINEPROBLEM_H

#include "parplan/Planner/PlanningProblem.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace parplan {

/// A line of problems: two that differ in sizes alone, as a function of a
/// number.
class AffineProblem {
public:
  /// From the problems for two different numbers; nullopt, and what differs,
  /// where that is more than shapes, sizes of factors and coefficients of work,
  /// or where a variable grows.
  static std::optional<AffineProblem> make(PlanningProblem one, int64_t first,
                                           const PlanningProblem &other,
                                           int64_t second, std::string &reason);

  /// On the line through both; nullopt where a size is no whole number.
  std::optional<PlanningProblem> get(int64_t number) const;
  /// True where `get` gives one.
  bool isWhole(int64_t number) const;

  /// The one of two that was given first.
  const PlanningProblem &getBase() const { return base; }
  /// Per op: the same for those that grow alike, with what they read and make.
  /// What is equal and has one label in the base is equal for every number.
  std::vector<int64_t> getLabels() const;
  /// Of a part of the base: per value and op the one that it is of the base.
  AffineProblem select(PlanningProblem part, llvm::ArrayRef<int> values,
                       llvm::ArrayRef<int> ops) const;

private:
  enum class Place { shape, factor, flops, transcendentals };
  /// A size that is not the same in both.
  struct Growth {
    Place place;
    /// Of the value or op, and in it.
    int entry, position;
    double difference;
  };

  /// By entry, those of values before those of ops.
  llvm::ArrayRef<Growth> getGrowths(bool isOfValue, int entry) const;
  double getMore(const Growth &growth, int64_t number) const;

  template <typename Problem, typename Visit>
  static void visitSizes(Problem &problem, Visit visit);
  /// All that may grow, in the order of visits.
  static std::vector<double> getSizes(const PlanningProblem &problem);
  static void setSizes(PlanningProblem &problem,
                       const std::vector<double> &sizes);

  PlanningProblem base;
  int64_t first = 1, distance = 1;
  std::vector<Growth> growths;
};

} // namespace parplan

#endif // PARPLAN_PLANNER_AFFINEPROBLEM_H
