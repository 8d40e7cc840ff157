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
std::optional<ClusterDescription> measure(int64_t ranks,
                                          DiagnosticEngine &engine) {
  std::optional<CompileCommands> commands =
      readCompileCommands(findRuntimeFile(), CompileTarget::host, engine);
  if (!commands)
    return std::nullopt;
  TemporaryFolder folder;
  if (!folder.exists()) {
    engine.error(codes::calibrationFailed)
        << "there is no place for a temporary folder";
    return std::nullopt;
  }
  std::string source = folder.getPath("calibration.cpp"),
              program = folder.getPath("calibration"),
              figures = folder.getPath("figures.json");
  if (!writeFileAtomically(source, printCalibrationProgram(ranks), engine) ||
      !compileProgram(*commands, source, program, engine))
    return std::nullopt;
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
  std::optional<std::string> text =
      readFile(figures, codes::calibrationFailed, engine);
  if (!text)
    return std::nullopt;
  return readCalibration(*text, figures, getMachine(), engine);
}

} // namespace

CommandResult parplan::calibrate(int64_t ranks, const std::string &outputPath,
                                 DiagnosticEngine &engine) {
  CommandResult result;
  std::optional<ClusterDescription> cluster = measure(ranks, engine);
  if (!cluster)
    return result;
  result.document = toJson(*cluster);
  if (!writeFileAtomically(outputPath, printJson(result.document), engine))
    return result;
  const Device &device = cluster->device;
  auto printRate = [](double rate) {
    std::ostringstream text;
    text.precision(3);
    text << rate / 1e9;
    return text.str();
  };
  result.text =
      cluster->title + ": of each " +
      printRate(device.flopsPerSecond.fp32 * device.matrixEfficiency) +
      " GFLOP/s of products, " +
      printRate(device.memoryBytesPerSecond * device.memoryEfficiency) +
      " GB/s of element-wise loops; of all " +
      printRate(cluster->node.hostMemoryBytesPerSecond) +
      " GB/s of memory\nwritten to " + outputPath + "\n";
  return result;
}
