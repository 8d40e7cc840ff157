//===- asynchronous_steps.h - Steps without a common end ------------------===//
//
// Workers compute at their own pace and push gradients to servers, which apply
// each push by itself. All servers apply in one order, so that what a worker
// gets is one version of the parameters: the first server takes pushes as they
// are announced and tells the others. Who goes on when is WorkerProgress's
// matter. All ranks meet again after some steps, with the same parameters
// everywhere, to save what they have.
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
#include "worker_progress.h"

namespace parplan {
namespace runtime {

/// Reads the log of --replay; fails when it is none of this program.
ApplicationLog requireLog(const Program &program, const Options &options);

class AsynchronousSteps {
public:
  AsynchronousSteps(Run &run, EngineRank &rank, World &world, Dataset &data,
                    const StepNumbers &numbers);

  /// What rank 0 knows after some steps.
  struct Made {
    /// Of each step: means over the workers.
    std::vector<StepResult> results;
    /// Seconds that rank 0's own step took.
    std::vector<double> seconds;
  };
  /// Makes `steps` steps, or fewer when the run is asked to end, which `state`
  /// counts then. Collective.
  Made make(TrainingState &state, int64_t steps, Progress *progress,
            std::string &order);
  /// Whether the run was asked to end. The same on all ranks.
  bool stopWanted() const { return stops; }

private:
  // What ranks do, by what they are; each gives the number of steps made.
  int64_t compute(const TrainingState &state, Progress *progress, Made &made);
  int64_t lead(const TrainingState &state, int64_t steps);
  int64_t follow(const TrainingState &state);

  void tellServers(int32_t kind, int64_t number);
  void apply(const TrainingState &state, int worker, int64_t finished,
             int64_t applied);
  void answer(int worker);
  void answerAll(WorkerProgress &progress);
  bool mayHaveAnswer(const WorkerProgress &progress, int worker) const;
  int nextWorker(WorkerProgress &progress);
  /// Whether all workers of the log had made so many steps, and none more, at
  /// one time: there they can meet again.
  bool hasMet(int64_t count) const;
  /// Says where the workers of the log met around step `count`, if not there.
  [[noreturn]] void failReplay(int64_t count) const;
  void requireSteps(const TrainingState &state, size_t applications) const;
  void collectNumbers(Made &made, int64_t steps);
  void collectLog(int64_t steps);

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
  std::vector<OwnNumbers> own;

  // Of the leader: what was applied in this run, and steps before the ones that
  // are made now.
  ApplicationLog log;
  size_t before = 0;
  /// Workers whose pushes are announced, in that order.
  std::vector<int> announced;
  // What --replay repeats, and for each worker what its pushes have seen.
  std::vector<int32_t> givenOrder;
  std::vector<std::vector<int64_t>> givenSeen;
  int64_t givenFirst = 0;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_ASYNCHRONOUS_STEPS_H
