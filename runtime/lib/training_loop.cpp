//===- training_loop.cpp - Step after step --------------------------------===//

#include "asynchronous_steps.h"
#include "checkpoint.h"
#include "dataset.h"
#include "output_file.h"
#include "progress.h"
#include "run.h"
#include "save.h"
#include "signals.h"
#include "step_numbers.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace parplan {
namespace runtime {

namespace {

/// Below this the loss scale is not what overflows.
constexpr double smallestLossScale = 1.0 / (1 << 24);

class Loop {
public:
  Loop(Run &run, EngineRank &rank, World &world)
      : run(run), rank(rank), world(world), data(run.program, run.options),
        state(initialState(*run.program.training)), numbers(run.program) {
    steps = run.options.steps
                ? run.options.steps
                : (data.samples() + data.batch() - 1) / data.batch();
    if (run.program.staleness >= 0)
      asynchronous.reset(new AsynchronousSteps(
          run, rank, world, data, numbers,
          [this](const StepResult &result, double seconds) {
            record(result, seconds);
          }));
  }

  ExitCode train(std::string &order);

private:
  void reserveMetrics();
  void commonStep(Progress *progress, std::string &order);
  void record(const StepResult &result, double seconds);
  int64_t nextMeeting() const;
  bool stopWanted();

  Run &run;
  EngineRank &rank;
  World &world;
  Dataset data;
  TrainingState state;
  const StepNumbers numbers;
  std::unique_ptr<AsynchronousSteps> asynchronous;
  int64_t steps = 0;
};

/// Nothing grows during steps, up to a number of steps.
void Loop::reserveMetrics() {
  run.metrics.firstStep = state.step;
  run.metrics.samplesPerStep = data.batch();
  const size_t count = static_cast<size_t>(
      std::min<int64_t>(std::max<int64_t>(steps - state.step, 0), 1 << 24));
  run.metrics.stepSeconds.reserve(count);
  run.metrics.losses.reserve(count);
  if (numbers.hasGradientNorm())
    run.metrics.gradientNorms.reserve(count);
}

void Loop::commonStep(Progress *progress, std::string &order) {
  const int64_t start = monotonicNanoseconds();
  data.load(state.samples);
  uploadScalars(rank, scalarsOf(*run.program.training, state));
  rank.beginStep();
  rank.stage().step(rank);
  rank.synchronize();
  order = rank.finishOrder();
  checkOrder(run.program, world.rank(), order);
  const StepResult result = numbers.collect(rank, world, state.lossScale > 0);
  if (world.rank() == 0)
    record(result, (monotonicNanoseconds() - start) * 1e-9);
  finishStep(state, data.batch(), result.overflow);
  if (progress)
    progress->update(state.step, result.loss);
}

/// On rank 0.
void Loop::record(const StepResult &result, double seconds) {
  Metrics &metrics = run.metrics;
  metrics.stepSeconds.push_back(seconds);
  metrics.losses.push_back(static_cast<float>(result.loss));
  if (numbers.hasGradientNorm())
    metrics.gradientNorms.push_back(static_cast<float>(result.gradientNorm));
  metrics.skippedSteps += result.overflow;
  if (!result.overflow) {
    requireFinite("the loss", result.loss, state.step);
    requireFinite("the gradient norm", result.gradientNorm, state.step);
  } else if (state.lossScale < smallestLossScale) {
    char scale[32];
    std::snprintf(scale, sizeof scale, "%.3g", state.lossScale);
    fail(exitBadData, "the gradient of step " + std::to_string(state.step + 1) +
                          " overflows with every loss scale down to " + scale);
  }
}

/// Whether the run is asked to end; all ranks agree on the step.
bool Loop::stopWanted() {
  if (!run.options.savesWhenPreempted())
    return false;
  char wanted =
      preemptionRequested() || (asynchronous && asynchronous->stopWanted());
  world.broadcastFromRoot(&wanted, 1);
  return wanted != 0;
}

/// The step after which workers without a common step meet.
int64_t Loop::nextMeeting() const {
  const int64_t every = run.options.checkpointEvery;
  return every == 0 ? steps : std::min(steps, (state.step / every + 1) * every);
}

ExitCode Loop::train(std::string &order) {
  const Options &options = run.options;
  const bool root = world.rank() == 0;
  const std::vector<Variable> variables = listVariables(run.program);
  Checkpoints checkpoints(rank, world, options, variables, run.weightsFile);
  int64_t saved = checkpoints.resume(state) ? state.step : -1;
  if (root && state.step > steps)
    warn("the checkpoint is of step " + std::to_string(state.step) +
         ", beyond --steps " + std::to_string(steps));
  data.attach(rank);
  if (root)
    reserveMetrics();
  world.barrier();

  std::unique_ptr<Progress> progress;
  if (root && progressWanted())
    progress.reset(new Progress(state.step, steps, data.batch()));
  bool stop = stopWanted();
  while (state.step < steps && !stop) {
    if (asynchronous)
      asynchronous->make(state, nextMeeting() - state.step, progress.get(),
                         order);
    else
      commonStep(progress.get(), order);
    stop = stopWanted();
    if (options.checkpointEvery != 0 && !stop &&
        state.step % options.checkpointEvery == 0) {
      checkpoints.write(state);
      saved = state.step;
    }
  }
  progress.reset();
  if (!options.checkpointFolder.empty() && saved != state.step)
    checkpoints.write(state);
  if (stop && state.step < steps) {
    if (root)
      std::fprintf(stderr, "program: preempted after step %lld, state saved\n",
                   static_cast<long long>(state.step));
    return exitPreempted;
  }
  if (!options.saveFile.empty())
    saveModel(rank, world, variables, options.saveFile, run.templateFile,
              run.weightsFile);
  return exitDone;
}

} // namespace

ExitCode trainSteps(Run &run, EngineRank &rank, World &world,
                    std::string &order) {
  Loop loop(run, rank, world);
  return loop.train(order);
}

void checkTraining(const Run &run) {
  const Options &options = run.options;
  Dataset(run.program, options).checkLabels();
  if (!options.replayFile.empty())
    requireLog(run.program, options);
  if (!options.saveFile.empty()) {
    if (!run.program.training->savesModel && savesOnnx(options.saveFile))
      fail(exitOptionValue, "--save " + quoted(options.saveFile) +
                                ": the model is too large for an ONNX file; "
                                "save as .safetensors");
    if (access(run.templateFile.c_str(), R_OK) != 0)
      fail(exitBadData, "cannot open " + quoted(run.templateFile) + ": " +
                            std::strerror(errno));
    OutputFile probe(options.saveFile);
  }
  if (!options.checkpointFolder.empty() &&
      !makeFolders(options.checkpointFolder))
    fail(exitCannotCreate, "cannot write to the folder " +
                               quoted(options.checkpointFolder) + ": " +
                               std::strerror(errno));
}

} // namespace runtime
} // namespace parplan
