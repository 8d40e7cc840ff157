//===- ProgressLine.cpp - How far a search is, on one line ----------------===//

#include "lib/Driver/ProgressLine.h"

#include "parplan/Support/Text.h"

#include <cmath>

using namespace parplan;

std::string parplan::formatProgress(const SearchProgress &progress,
                                    double seconds) {
  std::string text = "planning " + formatSeconds(seconds) + ": ";
  bool hasBest = std::isfinite(progress.bestSeconds);
  text += hasBest ? "best " + formatSeconds(progress.bestSeconds)
                  : std::string("no plan yet");
  if (progress.boundSeconds > 0) {
    text += ", bound " + formatSeconds(progress.boundSeconds);
    if (hasBest) {
      double gap = 1 - progress.boundSeconds / progress.bestSeconds;
      // Rounded up: what is left is not hidden.
      text += ", gap " +
              formatNumber(std::ceil(std::max(gap, 0.0) * 1e4 - 1e-6) / 100) +
              " %";
    }
  }
  return text + ", " + std::to_string(progress.explored) + " explored";
}

void ProgressLine::show(const SearchProgress &progress) {
  Clock::time_point now = Clock::now();
  if (now < next)
    return;
  next = now + interval;
  std::string text = formatProgress(
      progress, std::chrono::duration<double>(now - start).count());
  // Back to the start, the text, and what was longer is removed.
  text = isTerminal ? "\r" + text + "\x1b[K" : text + "\n";
  fwrite(text.data(), 1, text.size(), stream);
  fflush(stream);
  isShown = isTerminal;
}

void ProgressLine::clear() {
  if (!isShown)
    return;
  fputs("\r\x1b[K", stream);
  fflush(stream);
  isShown = false;
}
