//===- ProgressLine.h - How far a search is, on one line --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_PROGRESSLINE_H
#define PARPLAN_DRIVER_PROGRESSLINE_H

#include "parplan/Planner/SearchControl.h"

#include <chrono>
#include <cstdio>
#include <string>

namespace parplan {

/// `planning 3.0 s: best 1.25 ms, bound 1.20 ms, gap 4 %, 12 explored`; what is
/// not known yet is left out.
std::string formatProgress(const SearchProgress &progress, double seconds);

/// Shows the state of a search, at most once in each interval: on a terminal in
/// one line that is written again, which goes at the end; else, line after
/// line.
class ProgressLine {
public:
  ProgressLine(
      FILE *stream, bool isTerminal,
      std::chrono::milliseconds interval = std::chrono::milliseconds(500))
      : stream(stream), isTerminal(isTerminal), interval(interval) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;

  void show(const SearchProgress &progress);
  void clear();

private:
  using Clock = std::chrono::steady_clock;

  FILE *stream;
  bool isTerminal;
  std::chrono::milliseconds interval;
  bool isShown = false;
  Clock::time_point start = Clock::now();
  Clock::time_point next = start + interval;
};

} // namespace parplan

#endif // PARPLAN_DRIVER_PROGRESSLINE_H
