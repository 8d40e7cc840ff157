//===- Ranks.h - Who does something -----------------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_EXEC_RANKS_H
#define PARPLAN_DIALECTS_EXEC_RANKS_H

#include "dialects/exec/ExecDialect.h"

#include "llvm/ADT/SmallBitVector.h"

namespace parplan::exec {

/// All ranks, or the same members of every group of a communicator.
class Ranks {
public:
  /// All of them.
  Ranks() = default;
  /// One member. `user` is an operation of the program.
  static Ranks getOnly(MemberAttr member, mlir::Operation *user);

  bool areAll() const { return !communicator; }
  bool areNone() const { return communicator && members.none(); }
  /// Null for all ranks.
  mlir::StringAttr getCommunicator() const { return communicator; }
  /// The members by their position.
  const llvm::SmallBitVector &getMembers() const { return members; }

  /// The other members of some.
  Ranks getOthers() const;
  /// Those that are in both, of the same communicator or of all.
  Ranks intersect(const Ranks &other) const;
  /// Whether a rank may be in both. Any member of one communicator may be any
  /// of another one.
  bool meet(const Ranks &other) const;

private:
  mlir::StringAttr communicator;
  llvm::SmallBitVector members;
};

} // namespace parplan::exec

#endif // PARPLAN_DIALECTS_EXEC_RANKS_H
