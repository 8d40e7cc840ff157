//===- Interrupts.h - What Ctrl-C and SIGTERM do ----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TOOLS_INTERRUPTS_H
#define PARPLAN_TOOLS_INTERRUPTS_H

#include <atomic>

namespace parplan {

/// From here on the first SIGINT or SIGTERM sets what is returned, which
/// whoever works looks at; the second one ends the process at once, with 130.
const std::atomic<bool> &catchInterrupts();

} // namespace parplan

#endif // PARPLAN_TOOLS_INTERRUPTS_H
