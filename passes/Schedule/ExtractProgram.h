//===- ExtractProgram.h - exec programs for the simulator -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_EXTRACTPROGRAM_H
#define PARPLAN_PASSES_SCHEDULE_EXTRACTPROGRAM_H

#include "dialects/exec/ExecOps.h"
#include "parplan/Simulator/Program.h"

namespace parplan {

/// What the ranks of a verified program do: buffers, launches with their costs,
/// communication and events, in the order of issue. One program for all ranks,
/// or one for each where exchanges and copies of single members make them
/// differ.
Program extractProgram(exec::ProgramOp program);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_EXTRACTPROGRAM_H
