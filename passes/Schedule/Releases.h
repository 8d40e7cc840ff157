//===- Releases.h - When other streams are done with bytes ------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_RELEASES_H
#define PARPLAN_PASSES_SCHEDULE_RELEASES_H

#include "dialects/exec/ExecOps.h"

#include "llvm/ADT/DenseMap.h"

namespace parplan {

class PlanCosts;

/// For every statement beside the compute stream the statement from which on
/// its bytes may be used anew: what waits for it anyway, the next on its
/// stream, or, of a collective, the first computation by when twice the time
/// that it is estimated to take has passed. Earlier, what is computed meanwhile
/// would have to wait for the bytes. Whatever takes them does wait: an estimate
/// costs time where it is wrong, and no more.
llvm::DenseMap<int64_t, int64_t> findReleases(exec::ProgramOp program,
                                              const PlanCosts &costs);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_RELEASES_H
