//===- run.cpp - The main function of an emitted program ------------------===//

#include "run.h"
#include "blocks.h"
#include "launch.h"
#include "output_file.h"
#include "platform_device.h"
#include "progress.h"
#include "signals.h"
#include "thread_world.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace parplan {
namespace runtime {

namespace {

/// Where rank 0 writes what a failure that it foresees would leave.
std::string foreseenFile(const Run &run) {
  return run.options.metricsFile + ".foreseen";
}

void writeFailureMetrics(void *context, bool foreseen) {
  const Run &run = *static_cast<Run *>(context);
  if (run.options.metricsFile.empty())
    return;
  Metrics metrics = run.metrics; // The run may go on.
  metrics.failure =
      foreseen || failureText().empty() ? "a rank was lost" : failureText();
  metrics.reports.clear();
  if (run.root)
    metrics.reports.push_back(reportOf(*run.root, *run.rootWorld, ""));
  if (foreseen)
    writeMetrics(foreseenFile(run), metrics);
  else if (writeMetrics(run.options.metricsFile, metrics))
    unlink(foreseenFile(run).c_str());
}

/// Of a launch that failed before rank 0 could write its metrics.
void adoptFailureMetrics(Run &run) {
  const std::string &file = run.options.metricsFile;
  if (file.empty())
    return;
  if (access(file.c_str(), F_OK) == 0)
    unlink(foreseenFile(run).c_str());
  else if (std::rename(foreseenFile(run).c_str(), file.c_str()) != 0)
    writeFailureMetrics(&run, /*foreseen=*/false);
}

/// What can be known before ranks start.
void checkRun(Run &run) {
  if (run.program.training)
    checkTraining(run);
  else
    checkInputs(run.program, run.options);
  bool needsWeights = false;
  for (const Stage &stage : run.program.stages)
    for (const Parameter &parameter : stage.parameters)
      needsWeights |= parameter.inlineData == nullptr;
  if (needsWeights && access(run.weightsFile.c_str(), R_OK) != 0)
    fail(exitBadData, "cannot open the weights " + quoted(run.weightsFile) +
                          ": " + std::strerror(errno));
  std::vector<std::string> folders = {run.options.outputDirectory};
  for (const Stage &stage : run.program.stages)
    if (stage.nvmeArenaBytes > 0)
      folders.push_back(run.options.nvmeFolder);
  for (const std::string &folder : folders)
    if (!folder.empty() && !makeFolders(folder))
      fail(exitCannotCreate, "cannot write to the folder " + quoted(folder) +
                                 ": " + std::strerror(errno));
  if (!run.options.metricsFile.empty()) {
    unlink(run.options.metricsFile.c_str());
    std::FILE *file = std::fopen(run.options.metricsFile.c_str(), "wb");
    if (!file)
      fail(exitCannotCreate, "cannot write " + quoted(run.options.metricsFile) +
                                 ": " + std::strerror(errno));
    std::fclose(file);
    unlink(run.options.metricsFile.c_str());
    unlink(foreseenFile(run).c_str());
  }
}

void writeOutputs(Run &run, EngineRank &rank, World &world) {
  if (run.options.outputDirectory.empty())
    return;
  const std::vector<PlacedOutput> outputs = outputsOf(run.program);
  std::vector<std::string> names;
  for (const PlacedOutput &placed : outputs)
    names.push_back(placed.tensor->name);
  const std::vector<std::string> files = arrayFileNames(names);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor &output = *outputs[i].tensor;
    const std::vector<char> global = collectOutput(rank, world, outputs[i]);
    if (world.rank() != 0)
      continue;
    const std::string path = run.options.outputDirectory + "/" + files[i];
    if (!writeArray(path, output.type, modelShape(output), global.data()))
      fail(exitInputOutput, "cannot write " + quoted(path));
  }
}

} // namespace

void checkOrder(const Program &program, int rank, const std::string &order) {
  if (program.orderDigests.size == 0)
    return;
  const std::string expected =
      program.orderDigests[program.orderDigests.size == 1 ? 0 : rank];
  // A server that is called by workers has no order of its own.
  if (!expected.empty() && order != expected)
    fail(exitInternal, "the order of communication is not the plan's: " +
                           order + " instead of " + expected);
}

namespace {

/// Runs the forward pass of --steps and writes its outputs.
ExitCode inferSteps(Run &run, EngineRank &rank, World &world,
                    std::string &order) {
  for (const auto &given : run.options.inputs)
    for (const Tensor &input : rank.stage().inputs)
      if (given.first == input.name)
        loadInput(rank, input, *readArray(given.second, input));
  world.barrier();
  const int64_t steps = run.options.steps ? run.options.steps : 1;
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t start = monotonicNanoseconds();
    rank.beginStep();
    rank.stage().step(rank);
    rank.synchronize();
    // The step ends with its last stage, not with rank 0's.
    if (run.program.stages.size > 1)
      world.barrier();
    if (world.rank() == 0)
      run.metrics.stepSeconds.push_back((monotonicNanoseconds() - start) *
                                        1e-9);
    order = rank.finishOrder();
    checkOrder(run.program, world.rank(), order);
  }
  writeOutputs(run, rank, world);
  return exitDone;
}

/// Everything that one rank does.
ExitCode runRank(Run &run, World &world) {
  setMessageRank(run.ranks > 1 ? world.rank() : -1);
  RankOptions rankOptions;
  rankOptions.arenaBytes = run.options.arenaBytes;
  rankOptions.timeoutSeconds = run.options.timeoutSeconds;
  rankOptions.nvmeFolder = run.options.nvmeFolder;
  const std::unique_ptr<EngineRank> rank =
      createRank(run.program, world, rankOptions);
  if (world.rank() == 0) {
    run.rootWorld = &world;
    run.root = rank.get();
  }
  loadParameters(*rank, run.weightsFile);
  std::string order;
  const ExitCode code = run.program.training
                            ? trainSteps(run, *rank, world, order)
                            : inferSteps(run, *rank, world, order);
  const RankReport report = reportOf(*rank, world, order);
  std::vector<RankReport> reports(run.ranks);
  for (int from = 0; from < run.ranks; ++from)
    if (world.rank() == 0 || world.rank() == from)
      world.sendToRoot(from, &report, &reports[from], sizeof report);
  if (world.rank() == 0) {
    run.metrics.reports = reports;
    if (!run.options.metricsFile.empty()) {
      if (!writeMetrics(run.options.metricsFile, run.metrics))
        fail(exitInputOutput,
             "cannot write " + quoted(run.options.metricsFile));
      unlink(foreseenFile(run).c_str());
    }
    run.root = nullptr;
  }
  world.barrier();
  return code;
}

ExitCode runThreads(Run &run) {
  ThreadHub hub(run.ranks);
  std::vector<std::unique_ptr<ThreadWorld>> worlds;
  for (int rank = 0; rank < run.ranks; ++rank)
    worlds.emplace_back(new ThreadWorld(hub, rank));
  startWatchdog(run.options.timeoutSeconds);
  std::vector<std::thread> threads;
  for (int rank = 1; rank < run.ranks; ++rank)
    threads.emplace_back(
        [&run, &worlds, rank] { runRank(run, *worlds[rank]); });
  const ExitCode code = runRank(run, *worlds[0]);
  for (std::thread &thread : threads)
    thread.join();
  return code;
}

ExitCode runProcess(Run &run) {
  // World and ranks go before MPI does; both are kept by pointers of the
  // watchdog until then, so the world is never destroyed.
  World *world = createProcessWorld(run.ranks).release();
  if (world->rank() != 0)
    setFailureHook(nullptr, nullptr);
  startWatchdog(run.options.timeoutSeconds);
  const ExitCode code = runRank(run, *world);
  finishProcessWorld();
  return code;
}

} // namespace

int runProgram(const Program &program, int argc, char **argv) {
  prepareSignals();
  keepHeapSmall();
  // The watchdog and the failure hook see the run until the process ends.
  static Run *current = nullptr;
  current = new Run(program, parseOptions(program, argc, argv));
  Run &run = *current;
  if (run.options.help) {
    std::fputs(usageText(program).c_str(), stdout);
    return exitDone;
  }
  run.ranks = rankCount(program);
  run.metrics.ranks = run.ranks;
  run.metrics.training = program.training != nullptr;
  run.weightsFile = executableFolder() + "/weights.bin";
  run.templateFile = executableFolder() + "/trained.onnx.template";
  if (run.options.nvmeFolder.empty())
    run.options.nvmeFolder = executableFolder() + "/nvme";
  if (!run.options.arenaBytes)
    run.options.arenaBytes = environmentNumber("PARPLAN_ARENA_BYTES", 0);
  const Launcher launcher = detectLauncher();
  const bool launched = launcher.kind != Launcher::Kind::None;
  setFailureHook(launcher.rank == 0 ? writeFailureMetrics : nullptr, &run);
  if (run.options.ranks && run.options.ranks != run.ranks)
    fail(exitDisagreement, "--ranks " + std::to_string(run.options.ranks) +
                               ", but the plan is for " +
                               std::to_string(run.ranks) +
                               " ranks; plan again with --gpus " +
                               std::to_string(run.options.ranks));
  if (launched && launcher.size != run.ranks && launcher.rank != 0) {
    // Rank 0 says it. The first rank that ends lets mpirun end the others, so
    // this one leaves it time; srun ends nobody, so it ends itself.
    constexpr auto timeOfRankZero = std::chrono::seconds(10);
    std::this_thread::sleep_for(timeOfRankZero);
    endQuietly(exitDisagreement);
  }
  if (launched && launcher.size != run.ranks)
    fail(exitDisagreement,
         std::string(launcher.name()) + " started " +
             std::to_string(launcher.size) + " ranks, but the plan is for " +
             std::to_string(run.ranks) + "; plan again with --gpus " +
             std::to_string(launcher.size));

  const RankForm form =
      chooseRankForm(run.options.communicator, run.ranks, launched);
  const bool torchrun =
      launcher.kind == Launcher::Kind::Torchrun && run.ranks > 1;
  const bool starts = form == RankForm::Processes && (!launched || torchrun);
  if (run.options.printLaunch) {
    if (starts)
      std::printf("%s\n",
                  mpiLaunchCommand(run.ranks, argc, argv).text().c_str());
    else
      std::printf("%s\n", launched ? "ranks come from the launcher"
                                   : "ranks are threads of this process");
    return exitDone;
  }
  std::unique_ptr<Leadership> leadership;
  if (torchrun && (starts || form == RankForm::Threads)) {
    leadership.reset(new Leadership(launcher));
    if (launcher.rank != 0)
      return leadership->follow(run.options.timeoutSeconds);
  }
  // Also under a launcher rank 0 checks first, before anyone waits for it.
  if (!launched || launcher.rank == 0)
    checkRun(run);
  int code = exitDone;
  if (starts) {
    if (torchrun)
      forgetLauncher();
    if (program.training)
      announceProgress();
    code = superviseLaunch(mpiLaunchCommand(run.ranks, argc, argv),
                           run.options.savesWhenPreempted());
    if (code != exitDone)
      adoptFailureMetrics(run);
  } else {
    watchSignals(/*withParent=*/launched && form == RankForm::Processes,
                 run.options.savesWhenPreempted());
    code = form == RankForm::Processes ? runProcess(run) : runThreads(run);
    setFailureHook(nullptr, nullptr);
  }
  if (leadership)
    leadership->announce(code);
  return code;
}

} // namespace runtime
} // namespace parplan
