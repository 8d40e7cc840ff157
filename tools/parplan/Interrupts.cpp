//===- Interrupts.cpp - What Ctrl-C and SIGTERM do ------------------------===//

#include "tools/parplan/Interrupts.h"

#include "parplan/Support/ExitCode.h"

#include <csignal>
#include <unistd.h>

using namespace parplan;

namespace {

/// A handler has nothing else to reach.
std::atomic<bool> isInterrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void handleInterrupt(int) {
  if (isInterrupted.exchange(true))
    _exit(static_cast<int>(ExitCode::interrupted));
}

} // namespace

const std::atomic<bool> &parplan::catchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = handleInterrupt;
  sigemptyset(&action.sa_mask);
  // Reading, writing and waiting for compilers go on.
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Whoever started this may have blocked them.
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGINT);
  sigaddset(&both, SIGTERM);
  sigprocmask(SIG_UNBLOCK, &both, nullptr);
  return isInterrupted;
}
