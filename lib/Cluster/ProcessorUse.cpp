//===- ProcessorUse.cpp - Who uses the processors -------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/ProcessorUse.h"

#include "parplan/Support/DiagnosticCodes.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

using namespace parplan;

static double getSeconds(const timeval &time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) * 1e-6;
}

std::optional<ProcessorUse> parplan::getProcessorUse() {
  std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  std::optional<ProcessorUse> use =
      parseProcessorUse(text.str(), static_cast<double>(sysconf(_SC_CLK_TCK)));
  if (!use)
    return std::nullopt;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage = {};
    if (getrusage(who, &usage) != 0)
      return std::nullopt;
    use->ownSeconds += getSeconds(usage.ru_utime) + getSeconds(usage.ru_stime);
  }
  return use;
}

std::optional<ProcessorUse> parplan::parseProcessorUse(std::string_view stat,
                                                       double ticksPerSecond) {
  std::istringstream line{std::string(stat.substr(0, stat.find('\n')))};
  std::string name;
  line >> name;
  if (name != "cpu")
    return std::nullopt;
  // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
  constexpr int fields = 8, idle = 3, waiting = 4;
  ProcessorUse use;
  for (int field = 0; field < fields; ++field) {
    double ticks = 0;
    if (!(line >> ticks))
      return std::nullopt;
    use.allSeconds += ticks / ticksPerSecond;
    if (field != idle && field != waiting)
      use.busySeconds += ticks / ticksPerSecond;
  }
  return use;
}

double parplan::getShareOfOthers(const ProcessorUse &first,
                                 const ProcessorUse &last) {
  double all = last.allSeconds - first.allSeconds;
  double others = (last.busySeconds - first.busySeconds) -
                  (last.ownSeconds - first.ownSeconds);
  // Ticks are coarser than what a process is told of itself.
  return all > 0 ? std::clamp(others / all, 0.0, 1.0) : 0;
}

void parplan::warnOfOthers(double share, DiagnosticEngine &engine) {
  constexpr double noticeable = 0.05;
  if (share < noticeable)
    return;
  engine.warning(codes::disturbedCalibration)
          .help("measure again when nothing else runs")
      << "other programs had " << std::lround(share * 100)
      << " % of the processors while the machine was measured: figures may be "
         "far off, calls too cheap above all";
}
