//===- IssuedStatements.h - What a rank runs, in its order ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_SIMULATOR_ISSUEDSTATEMENTS_H
#define PARPLAN_LIB_SIMULATOR_ISSUEDSTATEMENTS_H

#include "parplan/Simulator/Program.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace parplan {

/// A statement, and how it follows those before it. What a class leaves out
/// does not count: it separates no group.
struct IssuedStatement {
  const ProgramStatement &statement;
  /// Among those of the program.
  int64_t index;
  /// Together with the last one on its stream.
  bool joins;
  /// Of a wait, the index of the record that it is for.
  int64_t record = -1;
};

/// What ranks of a class run of a verified program, in their order.
void forEachIssued(const Program &program, const RankClass &rankClass,
                   llvm::function_ref<void(const IssuedStatement &)> visit);

} // namespace parplan

#endif // PARPLAN_LIB_SIMULATOR_ISSUEDSTATEMENTS_H
