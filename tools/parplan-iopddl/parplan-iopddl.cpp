//===- parplan-iopddl.cpp - The block solver on instances of the contest --===//
//
//   parplan-iopddl FILE SECONDS [--seed N] [--rounds N] [--kernel NAME] [-v]
//
// Solves an instance of the ASPLOS/EuroSys 2025 contest on intra-operator
// parallelism, and prints as the last line
//   {"cost":..,"lower_bound":..,"strategies":[..]}
// The cost is recomputed by the contest's rules, apart from the solver.
//
//===----------------------------------------------------------------------===//

#include "parplan/BlockSolver/Solver.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"
#include "tools/parplan-iopddl/Instance.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>

using namespace parplan;

namespace {

constexpr double maxSeconds = 1e6;

struct Options {
  std::string file;
  block::SolverOptions solver;
  bool isVerbose = false;
};

void failUsage(DiagnosticEngine &engine, std::string message) {
  engine.error(codes::badUsage)
          .help("parplan-iopddl FILE SECONDS [--seed N] [--rounds N] "
                "[--kernel best|generic|avx512] [-v]")
      << message;
}

bool readNumber(const std::string &option, const std::string &word,
                int64_t least, int64_t &number, DiagnosticEngine &engine) {
  std::optional<int64_t> value = parseInteger(word);
  if (value && *value >= least) {
    number = *value;
    return true;
  }
  engine.error(codes::badOptionValue)
      << option << " " << quoteName(word) << " is not a number from " << least
      << " on";
  return false;
}

/// Applies an option with a value; false after a report.
bool readOption(const std::string &option, const std::string &word,
                Options &options, DiagnosticEngine &engine) {
  static const std::map<std::string, block::Kernel> kernels = {
      {"best", block::Kernel::best},
      {"generic", block::Kernel::generic},
      {"avx512", block::Kernel::avx512}};
  if (option == "--rounds")
    return readNumber(option, word, 1, options.solver.rounds, engine);
  if (option == "--seed") {
    int64_t seed = 0;
    bool isRead = readNumber(option, word, 0, seed, engine);
    options.solver.seed = static_cast<uint64_t>(seed);
    return isRead;
  }
  auto kernel = kernels.find(word);
  if (kernel == kernels.end()) {
    engine.error(codes::badOptionValue)
        << option << " " << quoteName(word)
        << " is not one of best, generic, avx512";
    return false;
  }
  if (!block::hasKernel(kernel->second)) {
    engine.error(codes::badOptionValue)
        << option << " " << quoteName(word) << ": this processor has none";
    return false;
  }
  options.solver.kernel = kernel->second;
  return true;
}

std::optional<Options> readOptions(const std::vector<std::string> &words,
                                   DiagnosticEngine &engine) {
  Options options;
  std::vector<std::string> positionals;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string &word = words[i];
    if (word == "-v") {
      options.isVerbose = true;
    } else if (word == "--rounds" || word == "--seed" || word == "--kernel") {
      if (i + 1 == words.size()) {
        failUsage(engine, word + " has no value");
        return std::nullopt;
      }
      if (!readOption(word, words[++i], options, engine))
        return std::nullopt;
    } else if (word.starts_with("-") && word.size() > 1) {
      engine.error(codes::unknownOption)
              .help(suggest(word, {"--seed", "--rounds", "--kernel", "-v"}))
          << "unknown option " << quoteName(word);
      return std::nullopt;
    } else {
      positionals.push_back(word);
    }
  }
  if (positionals.size() != 2) {
    failUsage(engine, "expected a file and a number of seconds");
    return std::nullopt;
  }
  options.file = positionals[0];
  std::optional<double> seconds = parseNumber(positionals[1]);
  if (!seconds || *seconds <= 0 || *seconds > maxSeconds) {
    engine.error(codes::badOptionValue)
        << "SECONDS " << quoteName(positionals[1])
        << " is not a number above 0, up to 10^6";
    return std::nullopt;
  }
  options.solver.seconds = *seconds;
  if (options.solver.rounds == 0)
    options.solver.rounds =
        static_cast<int64_t>(std::ceil(*seconds * block::roundsPerSecond));
  return options;
}

void printProgress(const block::Progress &progress) {
  std::fprintf(stderr,
               "%7.2f s  round %-4lld cost %.0f  bound %.0f  gap %.4f %%  "
               "%d nodes, %lld values, %d times, %d prices  "
               "%lld passes, %lld episodes\n",
               progress.seconds, static_cast<long long>(progress.round),
               progress.cost, progress.lowerBound,
               100 * (progress.cost - progress.lowerBound) / progress.cost,
               progress.nodes, static_cast<long long>(progress.values),
               progress.times, progress.livePrices,
               static_cast<long long>(progress.passes),
               static_cast<long long>(progress.episodes));
}

/// None after a report. What is read counts in the seconds that are given.
std::optional<std::string> solveFile(Options options,
                                     DiagnosticEngine &engine) {
  auto start = std::chrono::steady_clock::now();
  auto getElapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  std::optional<std::string> text =
      contest::readPackedFile(options.file, engine);
  if (!text)
    return std::nullopt;
  std::optional<contest::Task> task =
      contest::readInstance(*text, options.file, engine);
  text.reset();
  if (!task)
    return std::nullopt;

  options.solver.seconds -= getElapsed();
  double lastReport = -1;
  block::Solution solution = block::solve(
      task->problem, options.solver, [&](const block::Progress &progress) {
        if (!options.isVerbose || progress.seconds < lastReport + 1)
          return;
        lastReport = progress.seconds;
        printProgress(progress);
      });
  if (options.isVerbose)
    printProgress(solution.progress);
  if (solution.choices.empty()) {
    engine.error(codes::noAnswerFits, Location::inFile(options.file))
        << (solution.lowerBound == block::forbidden
                ? "no strategies fit the usage limit"
                : "no strategies that fit the usage limit were found in time");
    return std::nullopt;
  }
  std::optional<int64_t> cost =
      contest::getCost(task->instance, solution.choices);
  if (!cost) {
    engine.error(codes::internalError, Location::inFile(options.file))
        << "the evaluator refuses the strategies that were found";
    return std::nullopt;
  }
  // The bound is a whole number below 2^53: it was rounded up.
  std::string line =
      concat("{\"cost\":", *cost, ",\"lower_bound\":",
             static_cast<int64_t>(std::max(solution.lowerBound, -0x1p53)),
             ",\"strategies\":[");
  for (size_t i = 0; i < solution.choices.size(); ++i)
    line += (i == 0 ? "" : ",") + std::to_string(solution.choices[i]);
  return line + "]}\n";
}

} // namespace

int main(int argc, char **argv) {
  DiagnosticEngine engine;
  std::optional<std::string> line;
  if (std::optional<Options> options =
          readOptions({argv + 1, argv + argc}, engine))
    line = solveFile(*std::move(options), engine);
  if (line && (std::fputs(line->c_str(), stdout) < 0 || std::fflush(stdout)))
    engine.error(codes::outputFailed) << "standard output cannot be written";
  RenderOptions render;
  render.program = "parplan-iopddl";
  std::fputs(engine.render(render).c_str(), stderr);
  return static_cast<int>(engine.getExitCode());
}
