//===- asynchronous_steps.cpp - Steps without a common end ----------------===//

#include "asynchronous_steps.h"
#include "signals.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <unistd.h>

namespace parplan {
namespace runtime {

namespace {

/// Kinds of notes, and what their number is.
enum NoteKind : int32_t {
  // From a worker to the first server: its push begins; whether the run is
  // asked to end.
  notePush,
  // From the first server to the others: the worker whose push is applied, that
  // is answered; how many steps were made.
  noteApply,
  noteAnswer,
  noteEnd,
  // From the first server to a worker with its answer: whether the run goes on
  // and how many steps were made.
  noteGoOn,
  noteStop
};

} // namespace

ApplicationLog requireLog(const Program &program, const Options &options) {
  const std::string refusal = "--replay " + quoted(options.replayFile) + ": ";
  ApplicationLog log;
  std::string reason;
  if (access(options.replayFile.c_str(), R_OK) != 0)
    fail(exitMissingInput, refusal + std::strerror(errno));
  if (!readApplicationLog(options.replayFile, log, reason))
    fail(exitBadData, refusal + reason);
  if (log.workers != workerCount(program))
    fail(exitDisagreement,
         refusal + "the log is of " + std::to_string(log.workers) +
             " workers, the plan of " + std::to_string(workerCount(program)));
  return log;
}

AsynchronousSteps::AsynchronousSteps(Run &run, EngineRank &rank, World &world,
                                     Dataset &data, const StepNumbers &numbers)
    : run(run), rank(rank), world(world), data(data), numbers(numbers),
      workers(workerCount(run.program)), leader(workers),
      replays(!run.options.replayFile.empty()) {
  if (world.rank() < workers)
    rank.announcePushes(
        [](void *context) {
          auto &steps = *static_cast<AsynchronousSteps *>(context);
          const bool stop =
              steps.run.options.savesWhenPreempted() && preemptionRequested();
          steps.world.tell(steps.leader, notePush, stop);
        },
        this);
  if (world.rank() != leader || !replays)
    return;
  const ApplicationLog given = requireLog(run.program, run.options);
  givenFirst = given.firstStep;
  givenOrder = given.order;
  givenSeen.resize(static_cast<size_t>(workers));
  for (size_t i = 0; i < given.order.size(); ++i)
    givenSeen[given.order[i]].push_back(given.seen[i]);
}

AsynchronousSteps::Made AsynchronousSteps::make(TrainingState &state,
                                                int64_t steps,
                                                Progress *progress,
                                                std::string &order) {
  Made made;
  const int64_t count = world.rank() < workers ? compute(state, progress, made)
                        : world.rank() == leader ? lead(state, steps)
                                                 : follow(state);
  order = digest;
  collectNumbers(made, count);
  collectLog(count);
  stops = count < steps;
  state.step += count;
  state.samples += count * data.batch();
  state.taken += count * workers;
  return made;
}

// --- workers
// ------------------------------------------------------------------------

int64_t AsynchronousSteps::compute(const TrainingState &state,
                                   Progress *progress, Made &made) {
  own.clear();
  TrainingState now = state;
  for (bool goesOn = true; goesOn;) {
    const int64_t start = monotonicNanoseconds();
    data.load(now.samples);
    uploadScalars(rank, scalarsOf(*run.program.training, now));
    rank.beginStep();
    rank.stage().step(rank);
    rank.synchronize();
    digest = rank.finishOrder();
    checkOrder(run.program, world.rank(), digest);
    const OwnNumbers result = numbers.readOwn(rank);
    requireFinite("the loss", result.loss, now.step);
    requireFinite("the gradient norm", result.gradientNorm, now.step);
    own.push_back(result);
    finishStep(now, data.batch(), /*overflow=*/false);
    if (progress)
      progress->update(now.step, result.loss);
    goesOn = world.hear().kind == noteGoOn;
    if (world.rank() == 0)
      made.seconds.push_back((monotonicNanoseconds() - start) * 1e-9);
  }
  return static_cast<int64_t>(own.size());
}

/// Rank 0's results become the means over the workers.
void AsynchronousSteps::collectNumbers(Made &made, int64_t steps) {
  if (world.rank() >= workers)
    return;
  std::vector<OwnNumbers> all(own);
  std::vector<double> weights(world.rank() == 0 ? own.size() : 0);
  if (world.rank() == 0)
    made.results.resize(own.size());
  for (int worker = 0; worker < workers; ++worker) {
    if (world.rank() != 0 && world.rank() != worker)
      continue;
    world.sendToRoot(worker, own.data(), all.data(),
                     steps * static_cast<int64_t>(sizeof(OwnNumbers)));
    for (size_t step = 0; step < made.results.size(); ++step) {
      weights[step] += all[step].weight;
      made.results[step].loss += all[step].weight * all[step].loss;
      made.results[step].gradientNorm +=
          all[step].weight * all[step].gradientNorm;
    }
  }
  for (size_t step = 0; step < made.results.size(); ++step) {
    const double weight = weights[step] > 0 ? weights[step] : 1;
    made.results[step].loss /= weight;
    made.results[step].gradientNorm /= weight;
  }
}

// --- servers
// ------------------------------------------------------------------------

void AsynchronousSteps::tellServers(int32_t kind, int64_t number) {
  for (int server = leader + 1; server < world.size(); ++server)
    world.tell(server, kind, number);
}

/// Receives and applies the push of a worker. `finished`: its steps before,
/// `applied`: all pushes since `state`.
void AsynchronousSteps::apply(const TrainingState &state, int worker,
                              int64_t finished, int64_t applied) {
  TrainingState now = state;
  now.step += finished;
  now.taken += applied;
  uploadScalars(rank, scalarsOf(*run.program.training, now));
  rank.serve(worker);
  rank.beginStep();
  rank.stage().step(rank);
  rank.synchronize();
}

void AsynchronousSteps::answer(int worker) {
  rank.serve(worker);
  rank.stage().reply(rank);
  rank.synchronize();
}

int64_t AsynchronousSteps::lead(const TrainingState &state, int64_t steps) {
  const size_t most = log.order.size() + static_cast<size_t>(steps * workers);
  log.order.reserve(most);
  log.seen.reserve(most);
  before = log.order.size() / static_cast<size_t>(workers);
  const int64_t first = static_cast<int64_t>(log.order.size());
  if (replays)
    requireSteps(state, most);
  WorkerProgress progress(workers, run.program.staleness, steps, first);
  for (answerAll(progress); !progress.isDone(); answerAll(progress)) {
    const int worker = nextWorker(progress);
    // Where workers met that had not met in the log, a push has seen too much.
    const size_t step = before + static_cast<size_t>(progress.finished(worker));
    if (replays && progress.seen(worker) != givenSeen[worker][step])
      failReplay(static_cast<int64_t>(step));
    log.order.push_back(worker);
    log.seen.push_back(progress.seen(worker));
    tellServers(noteApply, worker);
    apply(state, worker, progress.finished(worker), progress.version() - first);
    progress.apply(worker);
  }
  tellServers(noteEnd, progress.stepCount());
  return progress.stepCount();
}

int64_t AsynchronousSteps::follow(const TrainingState &state) {
  std::vector<int64_t> finished(static_cast<size_t>(workers));
  for (int64_t applied = 0;;) {
    const Note note = world.hear();
    if (note.kind == noteEnd)
      return note.number;
    const int worker = static_cast<int>(note.number);
    if (note.kind == noteApply)
      apply(state, worker, finished[worker]++, applied++);
    else
      answer(worker);
  }
}

/// Answers those who may go on.
void AsynchronousSteps::answerAll(WorkerProgress &progress) {
  for (int worker = 0; worker < workers; ++worker) {
    if (!mayHaveAnswer(progress, worker))
      continue;
    progress.answer(worker);
    tellServers(noteAnswer, worker);
    world.tell(worker, progress.isLast(worker) ? noteStop : noteGoOn, 0);
    answer(worker);
  }
}

bool AsynchronousSteps::mayHaveAnswer(const WorkerProgress &progress,
                                      int worker) const {
  if (!replays)
    return progress.mayHaveAnswer(worker);
  const std::vector<int64_t> &seen = givenSeen[worker];
  const size_t next = before + static_cast<size_t>(progress.finished(worker));
  const int64_t wanted = next < seen.size() ? seen[next] : progress.version();
  return progress.mayHaveAnswer(worker, wanted);
}

/// The worker whose push is applied next.
int AsynchronousSteps::nextWorker(WorkerProgress &progress) {
  const auto isNext = [&](int worker) {
    return !replays || worker == givenOrder[log.order.size()];
  };
  if (replays && !progress.computes(givenOrder[log.order.size()]))
    failReplay(static_cast<int64_t>(log.order.size()) / workers);
  for (;;) {
    const auto found = std::find_if(announced.begin(), announced.end(), isNext);
    if (found != announced.end()) {
      const int worker = *found;
      announced.erase(found);
      return worker;
    }
    const Note note = world.hear();
    announced.push_back(note.from);
    const bool stop = run.options.savesWhenPreempted() && preemptionRequested();
    if (!note.number && !stop)
      continue;
    // What is repeated ends where the workers of the log could have ended; the
    // last step is such an end.
    int64_t end = progress.begun();
    while (replays && !hasMet(static_cast<int64_t>(before) + end))
      ++end;
    progress.endAfter(end);
  }
}

bool AsynchronousSteps::hasMet(int64_t count) const {
  const size_t applications = static_cast<size_t>(count * workers);
  if (applications > givenOrder.size())
    return false;
  std::vector<int64_t> pushes(static_cast<size_t>(workers));
  for (size_t i = 0; i < applications; ++i)
    ++pushes[givenOrder[i]];
  return std::all_of(pushes.begin(), pushes.end(),
                     [&](int64_t made) { return made == count; });
}

void AsynchronousSteps::failReplay(int64_t count) const {
  const int64_t most = static_cast<int64_t>(givenOrder.size()) / workers;
  int64_t below = std::min(count, most), above = std::max<int64_t>(count, 1);
  while (below > 0 && !hasMet(below))
    --below;
  while (above < most && !hasMet(above))
    ++above;
  std::string met = std::to_string(givenFirst + above);
  if (below > 0 && below != above)
    met = std::to_string(givenFirst + below) + " and " + met;
  fail(exitDisagreement,
       "--replay " + quoted(run.options.replayFile) +
           ": the workers of the log did not meet where those of this run do; "
           "they can have met after step " +
           met + "; give the --checkpoint-every that it ran with");
}

/// That the log to be repeated is of this run, and goes as far.
void AsynchronousSteps::requireSteps(const TrainingState &state,
                                     size_t applications) const {
  const std::string refusal = "--replay " + quoted(run.options.replayFile);
  const int64_t first = state.step - static_cast<int64_t>(before);
  if (givenFirst != first)
    fail(exitDisagreement,
         refusal + ": the log begins after step " + std::to_string(givenFirst) +
             ", this run after step " + std::to_string(first));
  if (applications > givenOrder.size())
    fail(exitOptionValue,
         refusal + ": the log ends after step " +
             std::to_string(givenFirst +
                            static_cast<int64_t>(givenOrder.size() / workers)) +
             "; --steps is beyond it");
  const int64_t last = static_cast<int64_t>(applications) / workers;
  if (!hasMet(last))
    failReplay(last);
}

/// Rank 0 gets what was applied in the last steps.
void AsynchronousSteps::collectLog(int64_t steps) {
  if (world.rank() != 0 && world.rank() != leader)
    return;
  const size_t count = static_cast<size_t>(steps * workers);
  ApplicationLog &to = run.metrics.applications;
  const bool root = world.rank() == 0;
  if (root) {
    to.workers = workers;
    to.order.resize(to.order.size() + count);
    to.seen.resize(to.seen.size() + count);
  }
  const auto bring = [&](auto &from, auto &all) {
    using Entry = typename std::decay_t<decltype(all)>::value_type;
    world.sendToRoot(leader, root ? nullptr : &*(from.end() - count),
                     root ? &*(all.end() - count) : nullptr,
                     static_cast<int64_t>(count * sizeof(Entry)));
  };
  bring(log.order, to.order);
  bring(log.seen, to.seen);
}

} // namespace runtime
} // namespace parplan
