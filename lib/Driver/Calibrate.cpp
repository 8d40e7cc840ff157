//===- Calibrate.cpp - parplan calibrate ----------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Backend.h"
#include "lib/Driver/Commands.h"
#include "lib/Target/Compile.h"
#include "lib/Target/Process.h"
#include "parplan/Cluster/Calibration.h"
#include "parplan/Cluster/Presets.h"
#include "parplan/Cluster/ProcessorUse.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "parplan/Support/Text.h"

#include <cstring>
#include <filesystem>
#include <sstream>
#include <sys/wait.h>

using namespace parplan;

namespace {

/// A folder for files that nobody keeps.
class TemporaryFolder {
public:
  TemporaryFolder() {
    path = std::filesystem::temp_directory_path().string() +
           "/parplan-calibrate-XXXXXX";
    if (!mkdtemp(path.data()))
      path.clear();
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      std::filesystem::remove_all(path, ignored);
  }

  bool exists() const { return !path.empty(); }
  std::string getPath(const std::string &name) const {
    return path + "/" + name;
  }

private:
  std::string path;
};

/// What the program writes; none after a report.
std::optional<ClusterDescription> measure(int64_t ranks, Target target,
                                          DiagnosticEngine &engine) {
  std::optional<CompileCommands> commands = readCompileCommands(
      findRuntimeFile(),
      target == Target::host ? CompileTarget::host : CompileTarget::cuda,
      engine);
  if (!commands)
    return std::nullopt;
  TemporaryFolder folder;
  if (!folder.exists()) {
    engine.error(codes::calibrationFailed)
        << "there is no place for a temporary folder";
    return std::nullopt;
  }
  std::string source = folder.getPath("calibration.cu"),
              program = folder.getPath("calibration"),
              figures = folder.getPath("figures.json");
  if (!writeFileAtomically(source, printCalibrationProgram(ranks), engine) ||
      !compileProgram(*commands, source, program, engine))
    return std::nullopt;
  std::optional<ProcessorUse> before = getProcessorUse();
  ProcessResult result =
      runProcess({program}, {"PARPLAN_CALIBRATION=" + figures});
  if (!result.hasSucceeded()) {
    DiagnosticBuilder error = engine.error(codes::calibrationFailed);
    error << "the program that measures " << ranks << " ranks ";
    if (result.startError)
      error << "cannot be started: " << std::strerror(result.startError);
    else if (WIFEXITED(result.status))
      error << "ended with " << WEXITSTATUS(result.status);
    else
      error << "was ended by signal " << WTERMSIG(result.status);
    for (std::string_view line : splitText(result.output, '\n'))
      if (!line.empty())
        error.note(sanitize(line));
    return std::nullopt;
  }
  if (std::optional<ProcessorUse> after = getProcessorUse(); before && after)
    warnOfOthers(getShareOfOthers(*before, *after), engine);
  std::optional<std::string> text =
      readFile(figures, codes::calibrationFailed, engine);
  if (!text)
    return std::nullopt;
  return readCalibration(*text, figures,
                         target == Target::host ? MeasuredDevices::processors
                                                : MeasuredDevices::gpus,
                         getMachine(), engine);
}

} // namespace

CommandResult parplan::calibrate(const CalibrationOptions &options,
                                 DiagnosticEngine &engine) {
  CommandResult result;
  if (!canWriteFile(options.outputPath, engine))
    return result;
  std::optional<ClusterDescription> cluster =
      measure(options.ranks, options.target, engine);
  if (!cluster)
    return result;
  result.document = toJson(*cluster);
  if (!writeFileAtomically(options.outputPath, printJson(result.document),
                           engine))
    return result;
  const Device &device = cluster->device;
  bool isHost = options.target == Target::host;
  // Of a thousand million on a host, and as many thousand on a GPU.
  auto printRate = [&](double rate, const char *unit, bool isOfHost) {
    std::ostringstream text;
    text.precision(3);
    text << rate / (isOfHost ? 1e9 : 1e12) << (isOfHost ? " G" : " T") << unit;
    return text.str();
  };
  double peak =
      isHost ? device.flopsPerSecond.fp32 : device.flopsPerSecond.bf16;
  result.text = cluster->title + ": of each " +
                printRate(peak * device.matrixEfficiency, "FLOP/s", isHost) +
                " of " + (isHost ? "" : "bf16 ") + "products, " +
                printRate(device.memoryBytesPerSecond * device.memoryEfficiency,
                          "B/s", isHost) +
                " of element-wise loops; of all " +
                printRate(cluster->node.hostMemoryBytesPerSecond, "B/s", true) +
                " of " + (isHost ? "" : "the host's ") + "memory\nwritten to " +
                options.outputPath + "\n";
  return result;
}
