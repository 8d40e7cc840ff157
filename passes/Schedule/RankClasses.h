//===- RankClasses.h - Which ranks of a program do the same -----*- C++ -*-===//
//
// Part of parplan. Internal to passes/Schedule.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_RANKCLASSES_H
#define PARPLAN_PASSES_SCHEDULE_RANKCLASSES_H

#include "dialects/exec/ExecOps.h"

#include <map>
#include <set>

namespace parplan {

/// Ranks of one program do the same unless their places in a communicator make
/// a difference: of an exchange every place, of a copy that only one of its
/// members makes the place of that one.
class RankClasses {
public:
  /// By axes the places that count.
  using Places = std::map<AxisList, std::set<int64_t>>;

  /// Programs and mesh stay.
  RankClasses(llvm::ArrayRef<exec::ProgramOp> programs, const Mesh &mesh);

  /// Equal for ranks that do the same. Of each kind of ranks the first ones
  /// exchange messages with each other alone: a place in one communicator says
  /// nothing of those in others.
  std::vector<int64_t> getKey(int64_t rank) const;

  bool areAllAlike() const {
    return !hasPositions && whole.empty() && chosen.empty();
  }
  int64_t getPosition(int64_t rank) const;

private:
  void add(llvm::ArrayRef<int> axes);
  bool spread();

  const Mesh &mesh;
  mutable exec::ProgramOp program;
  bool hasPositions;
  /// Axes of which every place counts.
  AxisList whole;
  Places chosen;
};

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_RANKCLASSES_H
