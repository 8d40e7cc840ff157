//===- Program.h - Cost networks as linear programs -------------*- C++ -*-===//

#ifndef PARPLAN_BENCHMARKS_MILP_PROGRAM_H
#define PARPLAN_BENCHMARKS_MILP_PROGRAM_H

#include "parplan/Planner/CostNetwork.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

namespace parplan::milp {

/// What a plan is to have at most of something, as a network of the same
/// variables.
struct Limit {
  CostNetwork network;
  double most = 0;
};

struct ProgramSize {
  int64_t choices = 0, entries = 0, limits = 0;
};

/// Prints the minimum of a network as a mixed-integer program in the LP format:
/// a binary per choice of a variable, exactly one of which is 1, and a number
/// per entry of a table of two variables. The entries of a table that have a
/// choice add up to that choice, so they are 0 or 1 where choices are. What is
/// forbidden does not exist. Costs are multiplied by `scale`, limits are parts
/// of one: solvers know absolute tolerances.
ProgramSize printProgram(const CostNetwork &network,
                         llvm::ArrayRef<Limit> limits, double scale,
                         llvm::raw_ostream &out);

} // namespace parplan::milp

#endif // PARPLAN_BENCHMARKS_MILP_PROGRAM_H
