//===- asynchronous_steps.cpp - Steps without a common end ----------------===//

#include "asynchronous_steps.h"
#include "signals.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

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
  // From the first server to a worker with its answer: whether the run goes on.
  noteGoOn,
  noteStop,
  // To rank 0. From the first server: what was applied; from the other workers:
  // the numbers of a step, one after the other.
  noteApplied,
  noteLoss,
  noteGradientNorm,
  noteWeight
};

int64_t bitsOf(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

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
                                     Dataset &data, const StepNumbers &numbers,
                                     StepRecord::Report report)
    : run(run), rank(rank), world(world), data(data), numbers(numbers),
      workers(workerCount(run.program)), leader(workers),
      replays(!run.options.replayFile.empty()),
      record(workers, std::move(report)) {
  if (world.rank() == 0)
    run.metrics.applications.workers = workers;
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
  given = requireLog(run.program, run.options);
  givenSeen.resize(static_cast<size_t>(workers));
  for (size_t i = 0; i < given.order.size(); ++i)
    givenSeen[given.order[i]].push_back(given.seen[i]);
}

void AsynchronousSteps::make(TrainingState &state, int64_t steps,
                             Progress *progress, std::string &order) {
  if (world.rank() == 0) {
    ApplicationLog &log = run.metrics.applications;
    const size_t most = log.order.size() + static_cast<size_t>(steps * workers);
    log.order.reserve(most);
    log.seen.reserve(most);
  }
  const int64_t count = world.rank() < workers   ? compute(state, progress)
                        : world.rank() == leader ? lead(state, steps)
                                                 : follow(state);
  order = digest;
  stops = count < steps;
  state.step += count;
  state.samples += count * data.batch();
  state.taken += count * workers;
}

// --- workers
// ------------------------------------------------------------------------

int64_t AsynchronousSteps::compute(const TrainingState &state,
                                   Progress *progress) {
  const bool root = world.rank() == 0;
  const int64_t recorded = record.steps();
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
    if (!root)
      tellNumbers(result);
    finishStep(now, data.batch(), /*overflow=*/false);
    if (progress)
      progress->update(now.step, result.loss);
    goesOn = awaitAnswer();
    if (root)
      record.add(0, result, (monotonicNanoseconds() - start) * 1e-9);
  }
  const int64_t made = now.step - state.step;
  while (root && record.steps() < recorded + made)
    hearOfOthers(world.hear());
  return made;
}

void AsynchronousSteps::tellNumbers(const OwnNumbers &result) {
  world.tell(0, noteLoss, bitsOf(result.loss));
  world.tell(0, noteGradientNorm, bitsOf(result.gradientNorm));
  world.tell(0, noteWeight, bitsOf(result.weight));
}

/// Whether the run goes on.
bool AsynchronousSteps::awaitAnswer() {
  Note note = world.hear();
  while (hearOfOthers(note))
    note = world.hear();
  return note.kind == noteGoOn;
}

/// On rank 0. False for a note to rank 0 as a worker.
bool AsynchronousSteps::hearOfOthers(const Note &note) {
  double value;
  std::memcpy(&value, &note.number, sizeof value);
  ApplicationLog &log = run.metrics.applications;
  switch (note.kind) {
  case noteApplied:
    log.order.push_back(static_cast<int32_t>(note.number % workers));
    log.seen.push_back(note.number / workers);
    return true;
  case noteLoss:
    record.told(note.from).loss = value;
    return true;
  case noteGradientNorm:
    record.told(note.from).gradientNorm = value;
    return true;
  case noteWeight:
    record.told(note.from).weight = value;
    record.add(note.from, record.told(note.from));
    return true;
  default:
    return false;
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
  const int64_t first = applied;
  before = static_cast<size_t>(applied / workers);
  if (replays)
    requireSteps(state, static_cast<size_t>(applied + steps * workers));
  WorkerProgress progress(workers, run.program.staleness, steps, first);
  for (answerAll(progress); !progress.isDone(); answerAll(progress)) {
    const int worker = nextWorker(progress);
    // Where workers met that had not met in the log, a push has seen too much.
    const size_t step = before + static_cast<size_t>(progress.finished(worker));
    const int64_t seen = progress.seen(worker);
    if (isGiven() && seen != givenSeen[worker][step])
      failReplay(static_cast<int64_t>(step));
    tellServers(noteApply, worker);
    apply(state, worker, progress.finished(worker), progress.version() - first);
    progress.apply(worker);
    ++applied;
    world.tell(0, noteApplied, seen * workers + worker);
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
  // Behind the log it depends on what was applied alone, as in a run.
  const std::vector<int64_t> &seen = givenSeen[worker];
  const size_t next = before + static_cast<size_t>(progress.finished(worker));
  return next < seen.size() ? progress.mayHaveAnswer(worker, seen[next])
                            : progress.mayHaveAnswer(worker);
}

/// Whether --replay says which push is applied next.
bool AsynchronousSteps::isGiven() const {
  return static_cast<size_t>(applied) < given.order.size();
}

/// The worker whose push is applied next.
int AsynchronousSteps::nextWorker(WorkerProgress &progress) {
  const auto isNext = [&](int worker) {
    return !isGiven() || worker == given.order[applied];
  };
  if (isGiven() && !progress.computes(given.order[applied]))
    failReplay(applied / workers);
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
  const bool isBehind = applications > given.order.size();
  if (isBehind && !given.isOfFailure)
    return false;
  std::vector<int64_t> pushes(static_cast<size_t>(workers));
  for (size_t i = 0; i < std::min(applications, given.order.size()); ++i)
    ++pushes[given.order[i]];
  return std::all_of(pushes.begin(), pushes.end(), [&](int64_t made) {
    return isBehind ? made <= count : made == count;
  });
}

void AsynchronousSteps::failReplay(int64_t count) const {
  const int64_t most = static_cast<int64_t>(given.order.size()) / workers;
  int64_t below = std::min(count, most), above = std::max<int64_t>(count, 1);
  while (below > 0 && !hasMet(below))
    --below;
  while ((above < most || given.isOfFailure) && !hasMet(above))
    ++above;
  std::string met = std::to_string(given.firstStep + above);
  if (below > 0 && below != above)
    met = std::to_string(given.firstStep + below) + " and " + met;
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
  if (given.firstStep != first)
    fail(exitDisagreement, refusal + ": the log begins after step " +
                               std::to_string(given.firstStep) +
                               ", this run after step " +
                               std::to_string(first));
  if (applications > given.order.size() && !given.isOfFailure)
    fail(
        exitOptionValue,
        refusal + ": the log ends after step " +
            std::to_string(given.firstStep +
                           static_cast<int64_t>(given.order.size() / workers)) +
            "; --steps is beyond it");
  const int64_t last = static_cast<int64_t>(applications) / workers;
  if (!hasMet(last))
    failReplay(last);
}

} // namespace runtime
} // namespace parplan
