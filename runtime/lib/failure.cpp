//===- failure.cpp - How a run ends early ---------------------------------===//

#include "failure.h"

#include <atomic>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace parplan {
namespace runtime {

namespace {
thread_local int messageRank = -1;
std::atomic<bool> failing{false};
std::atomic<bool> lineOpen{false};
std::atomic<FailureHook> failureHook{nullptr};
std::atomic<void *> failureContext{nullptr};
} // namespace

void setMessageRank(int rank) { messageRank = rank; }

void setFailureHook(FailureHook hook, void *context) {
  failureContext = context;
  failureHook = hook;
}

const std::string &failureText() {
  static std::string *text = new std::string; // Outlives all threads.
  return *text;
}

namespace {
[[noreturn]] void end(ExitCode code, const std::string &text, bool print) {
  if (failing.exchange(true))
    for (;;) { // The first failure is ending the process.
      struct timespec second = {1, 0};
      nanosleep(&second, nullptr);
    }
  const_cast<std::string &>(failureText()) = text;
  std::string line = print && lineOpen ? "\nprogram: " : "program: ";
  if (messageRank >= 0)
    line += "rank " + std::to_string(messageRank) + ": ";
  line += "error: " + text + "\n";
  std::fflush(stdout);
  if (print)
    std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  if (const FailureHook hook = failureHook.exchange(nullptr))
    hook(failureContext, /*foreseen=*/false);
  _exit(code);
}
} // namespace

void fail(ExitCode code, const std::string &text) {
  end(code, text, /*print=*/true);
}

void endQuietly(ExitCode code) {
  end(code, "ended by a signal", /*print=*/false);
}

void foreseeFailure() {
  if (const FailureHook hook = failing ? nullptr : failureHook.load())
    hook(failureContext, /*foreseen=*/true);
}

void setLineOpen(bool open) { lineOpen = open; }

void warn(const std::string &text) {
  std::fprintf(stderr, "%sprogram: warning: %s\n",
               lineOpen.exchange(false) ? "\n" : "", text.c_str());
}

std::string quoted(const std::string &name) {
  std::string text = "'";
  for (unsigned char byte : name) {
    char buffer[8];
    if (byte == '\'' || byte == '\\') {
      text += '\\';
      text += static_cast<char>(byte);
    } else if (byte < 0x20 || byte >= 0x7f) {
      std::snprintf(buffer, sizeof buffer, "\\x%02x", byte);
      text += buffer;
    } else {
      text += static_cast<char>(byte);
    }
  }
  return text + "'";
}

} // namespace runtime
} // namespace parplan
