//===- Check.cpp - Guards of parplan's own invariants ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

using namespace parplan;

static void printFailure(const char *file, int line,
                         const std::string &message) {
  std::string text = formatCheckFailure(file, line, message) + "\n";
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

static std::atomic<CheckHandler> currentHandler{printFailure};

CheckHandler parplan::setCheckHandler(CheckHandler handler) {
  return currentHandler.exchange(handler ? handler : printFailure);
}

std::string parplan::formatCheckFailure(const char *file, int line,
                                        const std::string &message) {
  return concat("internal error [E9001] ", file, ":", line, ": ", message);
}

void parplan::checkFailed(const char *file, int line, const char *condition,
                          const std::string &message) {
  std::string text = message;
  if (condition) {
    if (!text.empty())
      text += ' ';
    text += concat("(", condition, ")");
  }
  // A handler that fails itself must not come back here for ever.
  static std::atomic<int> depth{0};
  CheckHandler handler =
      depth.fetch_add(1) == 0 ? currentHandler.load() : printFailure;
  handler(file, line, text);
  std::_Exit(70);
}
