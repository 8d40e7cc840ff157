//===- ProcessorUse.cpp - Who uses the processors -------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/ProcessorUse.h"

#include "parplan/Support/DiagnosticCodes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sched.h>
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
  cpu_set_t own;
  // Fails on machines with more processors than a set holds.
  bool isLimited = sched_getaffinity(0, sizeof own, &own) == 0;
  std::optional<ProcessorUse> use = parseProcessorUse(
      text.str(), static_cast<double>(sysconf(_SC_CLK_TCK)),
      [&](int64_t number) { return !isLimited || CPU_ISSET(number, &own); });
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

/// Of a line of one processor: its number, or that it is another line.
static std::optional<int64_t> readNumber(const std::string &name) {
  constexpr std::string_view prefix = "cpu";
  int64_t number = 0;
  const char *end = name.data() + name.size();
  if (!name.starts_with(prefix) ||
      std::from_chars(name.data() + prefix.size(), end, number).ptr != end ||
      name.size() == prefix.size())
    return std::nullopt;
  return number;
}

std::optional<ProcessorUse>
parplan::parseProcessorUse(std::string_view stat, double ticksPerSecond,
                           const std::function<bool(int64_t)> &isOwn) {
  // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
  constexpr int fields = 8, idle = 3, waiting = 4;
  ProcessorUse use;
  std::istringstream text{std::string(stat)};
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    std::optional<int64_t> number = readNumber(name);
    if (!number || !isOwn(*number))
      continue;
    for (int field = 0; field < fields; ++field) {
      double ticks = 0;
      if (!(words >> ticks))
        return std::nullopt;
      use.allSeconds += ticks / ticksPerSecond;
      if (field != idle && field != waiting)
        use.busySeconds += ticks / ticksPerSecond;
    }
  }
  if (use.allSeconds == 0)
    return std::nullopt;
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
         "far off";
}
