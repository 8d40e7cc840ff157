//===- signals.h - What ends a process from outside -----------------------===//

#ifndef PARPLAN_RUNTIME_LIB_SIGNALS_H
#define PARPLAN_RUNTIME_LIB_SIGNALS_H

#include <atomic>
#include <csignal>
#include <cstdint>

namespace parplan {
namespace runtime {

/// Asks ranks to save their state. mpirun hands this one on to them; SIGTERM
/// would make it end them.
constexpr int preemptionSignal = SIGUSR1;

/// Tells a second request from one that arrives twice, as those to a process
/// and to its group do. May be used by signal handlers.
class RepeatedRequest {
public:
  bool isSecond();

private:
  std::atomic<int64_t> first{0};
};

/// Ends this process when its parent ends; ends it quietly, with metrics, when
/// a launcher or user sends SIGTERM or SIGINT. Call before other threads
/// start. `withParent`: the parent is a launcher. `graceful`: the first SIGTERM
/// only makes `preemptionRequested` true.
void watchSignals(bool withParent, bool graceful);
bool preemptionRequested();
/// At the start of the program: a full disk and a reader of messages that is
/// gone are errors of writing, which end nothing by themselves; the signal by
/// which ranks are asked to save their state waits for watchSignals.
void prepareSignals();

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_SIGNALS_H
