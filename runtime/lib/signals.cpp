//===- signals.cpp - What ends a process from outside ---------------------===//

#include "signals.h"
#include "engine.h"
#include "failure.h"

#include <atomic>
#include <pthread.h>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

namespace parplan {
namespace runtime {

namespace {
std::atomic<bool> preempted{false};
}

bool RepeatedRequest::isSecond() {
  const int64_t now = monotonicNanoseconds();
  int64_t none = 0;
  return !first.compare_exchange_strong(none, now) && now - none > 1000000000;
}

bool preemptionRequested() { return preempted; }

void prepareSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, preemptionSignal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void watchSignals(bool withParent, bool graceful) {
  if (withParent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == 1)
      _exit(exitPeerLost);
  }
  static sigset_t set; // Outlives this call.
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGCONT);
  sigaddset(&set, preemptionSignal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([withParent, graceful] {
    RepeatedRequest terminations;
    for (;;) {
      int signal = 0;
      while (sigwait(&set, &signal) != 0)
        continue;
      // mpirun continues ranks a second before it ends them, and leaves them
      // a millisecond then.
      if (signal == SIGCONT) {
        foreseeFailure();
        continue;
      }
      if (graceful && signal != SIGINT)
        preempted = true;
      if (signal == SIGINT ||
          (signal == SIGTERM && (!graceful || terminations.isSecond())))
        break;
    }
    // A launcher ends the remaining ranks this way when one of them failed.
    endQuietly(withParent ? exitPeerLost : exitInterrupted);
  }).detach();
}

} // namespace runtime
} // namespace parplan
