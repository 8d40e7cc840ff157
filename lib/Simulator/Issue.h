//===- Issue.h - The order in which a program is issued ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_SIMULATOR_ISSUE_H
#define PARPLAN_LIB_SIMULATOR_ISSUE_H

#include "parplan/Simulator/Program.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace parplan {

/// How a statement follows those before it.
struct Issue {
  int64_t statement;
  /// Together with the last one on its stream.
  bool joins;
  /// Of a wait, the record that it is for.
  int64_t record = -1;
};

/// What ranks of a class run of a verified program, in their order.
void forEachIssue(
    const Program &program, const RankClass &rankClass,
    llvm::function_ref<void(const ProgramStatement &, const Issue &)> visit);

} // namespace parplan

#endif // PARPLAN_LIB_SIMULATOR_ISSUE_H
