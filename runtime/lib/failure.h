//===- failure.h - How a run ends early -----------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_FAILURE_H
#define PARPLAN_RUNTIME_LIB_FAILURE_H

#include <string>

namespace parplan {
namespace runtime {

/// Exit codes of the command-line contract that a program can reach.
enum ExitCode {
  exitDone = 0,
  exitUsage = 2,
  exitOptionValue = 64,
  exitBadData = 65,
  exitMissingInput = 66,
  exitInternal = 70,
  exitCannotCreate = 73,
  exitInputOutput = 74,
  exitDisagreement = 78,
  exitInterrupted = 130,
  exitPeerLost = 190,
  exitTimedOut = 191,
  exitDevice = 192,
  exitPreempted = 193,
};

/// Prints "program: error: TEXT" (with the rank, once it is known), writes the
/// metrics of a failed run and ends the process: other threads may hang in a
/// collective that nobody else will enter, so there is nothing to unwind.
/// Only the first caller is heard.
[[noreturn]] void fail(ExitCode code, const std::string &text);

/// The same without a message: the cause lies elsewhere.
[[noreturn]] void endQuietly(ExitCode code);

/// The text of the failure, for the hook; empty when there is none.
const std::string &failureText();

/// The rank that messages of this thread name; -1: none.
void setMessageRank(int rank);

/// Called by `fail` before the process ends, once, and by `foreseeFailure`.
using FailureHook = void (*)(void *context, bool foreseen);
void setFailureHook(FailureHook hook, void *context);

/// Lets the hook write down what there is while the run goes on: whoever is
/// ended from outside may have no time for it. Nothing may come of it.
void foreseeFailure();

/// Whether standard error holds a line without an end, which a message must
/// not continue.
void setLineOpen(bool open);
/// Prints "program: warning: TEXT".
void warn(const std::string &text);

/// A name from a model, safe to print: quotes, backslashes, control bytes and
/// what is not printable ASCII are escaped.
std::string quoted(const std::string &name);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_FAILURE_H
