//===- ExtractProgram.h - exec programs for the simulator -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_EXTRACTPROGRAM_H
#define PARPLAN_PASSES_SCHEDULE_EXTRACTPROGRAM_H

#include "dialects/exec/ExecOps.h"
#include "parplan/Simulator/Program.h"

#include "llvm/ADT/ArrayRef.h"

namespace parplan {

/// On exec.program: the least bytes of the arena of each tier that buffers with
/// these lives could have, 0 for tiers without buffers.
inline constexpr llvm::StringLiteral arenaBoundsName = "exec.arena_bounds";

/// The kind by which calls of a form are priced.
CollectiveKind getKind(exec::CollectiveForm form);

/// What the ranks of the verified programs of a module do: buffers, launches
/// with their costs, communication, transfers and events, in the order of
/// issue. One program for each exec.program, and classes of ranks where
/// positions, exchanges and copies of single members make them differ.
Program extractProgram(llvm::ArrayRef<exec::ProgramOp> programs);
inline Program extractProgram(mlir::ModuleOp module) {
  return extractProgram(exec::getPrograms(module));
}

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_EXTRACTPROGRAM_H
