//===- ExitCode.h - How a program of parplan ends ---------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SUPPORT_EXITCODE_H
#define PARPLAN_SUPPORT_EXITCODE_H

namespace parplan {

/// The exit codes of docs/cli.md; `parplan` and emitted programs share them.
enum class ExitCode : int {
  done = 0,
  /// The command line cannot be read: unknown option, missing argument.
  usage = 2,
  /// An option has a value that cannot be.
  optionValue = 64,
  /// A model, data file, plan or checkpoint is malformed.
  badInput = 65,
  /// An input file is missing or cannot be read.
  missingInput = 66,
  /// No plan fits the devices.
  noPlan = 69,
  internalError = 70,
  cannotWriteOutput = 73,
  /// I/O error, disk full.
  inputOutput = 74,
  /// Plan, checkpoint and environment disagree.
  environment = 78,
  /// Interrupted; the best plan so far was written.
  interrupted = 130,
  peerLost = 190,
  collectiveTimedOut = 191,
  deviceError = 192,
  /// Preempted, state saved.
  preempted = 193,
  notReproducible = 194,
};

} // namespace parplan

#endif // PARPLAN_SUPPORT_EXITCODE_H
