//===- ScaledProblem.h - Steps of any number of micro-batches ---*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// Importing a model and making a step of it takes longer than most of planning,
// and a search wants to know the step for every number of micro-batches. Steps
// of different numbers differ in nothing but sizes that grow with those of a
// micro-batch: two of them give the line on which all others are.
//
// A micro-batch of a single sample is another step: what is broadcast along the
// batch, and what rules split of it, is not there. So is a step of a single
// micro-batch, in which nothing is summed.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_SCALEDPROBLEM_H
#define PARPLAN_PLANNER_SCALEDPROBLEM_H

#include "parplan/Planner/StepProblem.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace parplan {

/// What a search asks of a model.
class ScaledProblem {
public:
  /// The step of so many micro-batches of so many samples; nullopt where there
  /// is none. It is asked at most once for each, and for several at once.
  using Extract = std::function<std::optional<PlanningProblem>(
      int64_t microBatches, int64_t samples)>;

  /// Steps of `globalBatch` samples in as many micro-batches as one of
  /// `counts`. `isFree`: `extract` can make micro-batches of any size, also
  /// where that does not divide the batch.
  ScaledProblem(int64_t globalBatch, std::vector<int64_t> counts, bool isFree,
                Extract extract);

  /// Ascending.
  llvm::ArrayRef<int64_t> getCounts() const { return counts; }
  int64_t getSamples(int64_t count) const { return globalBatch / count; }

  /// What extraction gives for one of the counts; nullopt where that fails.
  std::optional<StepProblem> get(int64_t count);
  /// A step with the ops of several samples in each micro-batch, though there
  /// may be but one in each: what a rank does of more samples. Nullopt where
  /// that is not known.
  std::optional<StepProblem> getPart(int64_t count);

  /// Why problems are extracted one by one, where they are.
  const std::optional<std::string> &getObstacle() const { return obstacle; }

private:
  std::vector<std::pair<int64_t, int64_t>> getBases() const;
  void prepare();

  int64_t globalBatch;
  std::vector<int64_t> counts;
  bool isFree;
  Extract extract;
  bool isPrepared = false;
  /// Of several micro-batches of several samples.
  std::shared_ptr<const AffineProblem> line;
  std::optional<std::string> obstacle;
  /// What was extracted for itself.
  std::map<int64_t, std::optional<StepProblem>> others;
};

} // namespace parplan

#endif // PARPLAN_PLANNER_SCALEDPROBLEM_H
