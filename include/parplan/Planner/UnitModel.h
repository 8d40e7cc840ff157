//===- UnitModel.h - A step as a row of units -------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// Of a step a search needs one unit of each kind. Steps on a line
// (AffineProblem.h) are given the units of its base, so that most of them are
// never made whole. Alone some might begin their blocks elsewhere: where they
// do is a choice, which no bound depends on.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_UNITMODEL_H
#define PARPLAN_PLANNER_UNITMODEL_H

#include "parplan/Planner/SearchModel.h"
#include "parplan/Planner/StepProblem.h"

namespace parplan {

/// The units of all steps on a line. Any thread may use it.
struct UnitLine;
std::shared_ptr<const UnitLine>
makeUnitLine(std::shared_ptr<const AffineProblem> steps);

/// A problem as a row of units: what is before the equal blocks, each block,
/// what is between runs of them, what is behind. Once per number of
/// micro-batches.
class UnitModel {
public:
  /// `line` is that of the step; null: it is on none.
  UnitModel(StepProblem step, const UnitLine *line);
  ~UnitModel();

  /// Of a step on a line it is made at the first call. Any thread may ask.
  const PlanningProblem &getProblem() const;
  /// One unit of each kind, the ops of one after those of another. It is no
  /// complete problem: what other units make has no producer in it.
  const PlanningProblem &getSample() const;
  /// Per op of the sample how many units have it.
  std::vector<int64_t> getSampleCounts() const;
  bool isTraining() const;
  int getUnitCount() const;
  /// Units that any stage may begin with: all but what stands at the ends.
  int64_t getBlockCount() const;
  /// Per op its unit; -1: it combines several once per step.
  const std::vector<int> &getUnitOfOp() const;
  /// Whether positions of a pipeline wait for each other in every step.
  Meeting getMeeting() const;
  /// What each of the ranks of a position sends of a micro-batch at least to
  /// the next one, wherever the cuts are.
  int64_t getLeastMessageBytes(int64_t ranks) const;

  /// The division itself, for lib/Planner.
  struct Storage;
  const Storage &get() const { return *storage; }

private:
  std::unique_ptr<Storage> storage;
};

} // namespace parplan

#endif // PARPLAN_PLANNER_UNITMODEL_H
