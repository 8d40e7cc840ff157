//===- Evaluator.h - What a plan costs, apart from any solver ---*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_EVALUATOR_H
#define PARPLAN_PLANNER_EVALUATOR_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanningAnswer.h"

#include <memory>
#include <string>
#include <vector>

namespace parplan {

/// A layout of a value that some op reads besides its layout at rest.
struct ValueCopy {
  Sharding layout;
  /// First and last op that read it.
  int firstUse = 0;
  int lastUse = 0;
  /// What its readers are, and how often per step it is made.
  CopyReader reader;
  int64_t repeat = 1;
};

/// Per value the layouts that are made besides that at rest, in order of first
/// use. Two uses in one layout share a copy where `sharesCopies` says so.
std::vector<std::vector<ValueCopy>> getCopies(const PlanningProblem &problem,
                                              const PlanningAnswer &answer);

/// What of the plan is illegal, with the number of the constraint and the name
/// of the op; empty for a legal plan.
std::vector<std::string> verifyAnswer(const PlanningProblem &problem,
                                      const PlanningAnswer &answer);

/// Recomputes time and memory of a legal plan from scratch. The step is a
/// sequence: every op, every reshard from made to rest, every copy; nothing
/// overlaps, but transfers between tiers and to other positions.
///
/// With a pipeline these seconds belong to passes and, once per step, to
/// positions: the step takes the simulated makespan of the passes, each
/// position going on with its updates, or the period where positions need not
/// meet (docs/cli.md).
PlanEvaluation evaluatePlan(const PlanningProblem &problem,
                            const PlanningAnswer &answer,
                            const PlanCosts &costs);

/// What is illegal about a plan; if nothing, what it takes.
struct PlanJudgement {
  std::vector<std::string> faults;
  PlanEvaluation evaluation;
};

/// The seconds of the layouts of a plan alone: of all its ops, reshards and
/// copies on one position, with everything kept on the device. That is what a
/// search of layouts adds up, so both must agree.
double getLayoutSeconds(const PlanningProblem &problem,
                        const PlanningAnswer &answer, const PlanCosts &costs);

struct MemoryPeak;

/// The same of many plans of one problem: what their parts take and hold is
/// found once per mesh. Problem and costs outlive it. Not thread safe.
class PlanEvaluator {
public:
  PlanEvaluator(const PlanningProblem &problem, const PlanCosts &costs);
  ~PlanEvaluator();

  std::vector<std::string> verify(const PlanningAnswer &answer);
  PlanEvaluation evaluate(const PlanningAnswer &answer);
  MemoryPeak getMemoryPeak(const PlanningAnswer &answer);
  /// Verifies a plan without servers, gives a legal one the times by which the
  /// passes of its pipeline are ordered, and their room in a rank of
  /// `limitBytes`, and evaluates it. Whatever the times are before, there is
  /// one for each stage.
  PlanJudgement timeAndJudge(PlanningAnswer &answer, int64_t limitBytes);

private:
  struct Tables;
  std::unique_ptr<Tables> tables;
};

/// Live bytes of a rank where their sum is highest.
struct MemoryPeak {
  int64_t bytes = 0;
  /// The first op at which it is reached, and its position in a pipeline.
  int op = 0;
  int64_t position = 0;
  /// Per position of the pipeline.
  std::vector<int64_t> ofPositions;
  /// Of the ranks of that position.
  int64_t parameterBytes = 0;
  int64_t optimizerBytes = 0;
  /// Of `bytes`: what ops of the backward pass made for parameters.
  int64_t gradientBytes = 0;
};

/// Highest sum of live bytes of a rank: parameters, states, constants and
/// inputs for the whole step, activations from producer to last use, outputs
/// to the end, copies from first to last use, pending results until they are at
/// rest, panels while their op runs. What replaces a variable lies in its
/// bytes. With several micro-batches, sums over them live from the start of
/// their segment, and what a later segment reads exists for all of them.
MemoryPeak getMemoryPeak(const PlanningProblem &problem,
                         const PlanningAnswer &answer);
int64_t getPeakBytes(const PlanningProblem &problem,
                     const PlanningAnswer &answer, int *peakOp = nullptr);

/// Makes a legal plan of a training step fit: copies of activations that the
/// forward and the backward pass share are made once for each, those of most
/// bytes first and no more than needed. False, leaving the plan as it is, where
/// all of them do not suffice.
bool gatherAgain(const PlanningProblem &problem, PlanningAnswer &answer,
                 int64_t limitBytes);

} // namespace parplan

#endif // PARPLAN_PLANNER_EVALUATOR_H
