//===- asynchronous_steps.h - Steps without a common end ------------------===//
//
// Workers compute at their own pace and push gradients to servers, which apply
// each push by itself. All servers apply in one order, so that what a worker
// gets is one version of the parameters: the first server takes pushes as they
// are announced and tells the others. Who goes on when is WorkerProgress's
// matter. All ranks meet again after some steps, with the same parameters
// everywhere, to save what they have. Rank 0 hears of every step and every
// application while the run goes on: one that fails has them in its metrics.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_ASYNCHRONOUS_STEPS_H
#define PARPLAN_RUNTIME_LIB_ASYNCHRONOUS_STEPS_H

#include "application_log.h"
#include "dataset.h"
#include "progress.h"
#include "run.h"
#include "schedule.h"
#include "step_numbers.h"
#include "step_record.h"
#include "worker_progress.h"

namespace parplan {
namespace runtime {

/// Reads the log of --replay; fails when it is none of this program.
ApplicationLog requireLog(const Program &program, const Options &options);

class AsynchronousSteps {
public:
  /// `report` is called on rank 0 with the means over the workers of every
  /// step.
  AsynchronousSteps(Run &run, EngineRank &rank, World &world, Dataset &data,
                    const StepNumbers &numbers, StepRecord::Report report);

  /// Makes `steps` steps, or fewer when the run is asked to end, which `state`
  /// counts then. Collective.
  void make(TrainingState &state, int64_t steps, Progress *progress,
            std::string &order);
  /// Whether the run was asked to end. The same on all ranks.
  bool stopWanted() const { return stops; }

private:
  // What ranks do, by what they are; each gives the number of steps made.
  int64_t compute(const TrainingState &state, Progress *progress);
  int64_t lead(const TrainingState &state, int64_t steps);
  int64_t follow(const TrainingState &state);

  void tellNumbers(const OwnNumbers &result);
  bool awaitAnswer();
  bool hearOfOthers(const Note &note);
  void tellServers(int32_t kind, int64_t number);
  void apply(const TrainingState &state, int worker, int64_t finished,
             int64_t applied);
  void answer(int worker);
  void answerAll(WorkerProgress &progress);
  bool mayHaveAnswer(const WorkerProgress &progress, int worker) const;
  int nextWorker(WorkerProgress &progress);
  bool isGiven() const;
  /// Whether all workers of the log had made so many steps, and none more, at
  /// one time: there they can meet again. Or the log of a failed run ends
  /// before.
  bool hasMet(int64_t count) const;
  /// Says where the workers of the log met around step `count`, if not there.
  [[noreturn]] void failReplay(int64_t count) const;
  void requireSteps(const TrainingState &state, size_t applications) const;

  Run &run;
  EngineRank &rank;
  World &world;
  Dataset &data;
  const StepNumbers &numbers;
  const int workers;
  /// The first server.
  const int leader;
  const bool replays;
  bool stops = false;

  // Of a worker. Servers have no order of communication of their own.
  std::string digest;
  // Of rank 0.
  StepRecord record;

  // Of the leader: pushes that were applied in this run, and steps before the
  // ones that are made now.
  int64_t applied = 0;
  size_t before = 0;
  /// Workers whose pushes are announced, in that order.
  std::vector<int> announced;
  // What --replay repeats, and for each worker what its pushes have seen.
  ApplicationLog given;
  std::vector<std::vector<int64_t>> givenSeen;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_ASYNCHRONOUS_STEPS_H
