//===- mpi_wait.cpp - Waiting for MPI beside ranks that compute -----------===//

#include "mpi_wait.h"
#include "launch.h"
#include "mpi_world.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <sched.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace parplan {
namespace runtime {

namespace {

using Duration = std::chrono::nanoseconds;

bool isShared = false;

/// For about as long as it says: else the kernel adds 50 microseconds.
void sleepFor(Duration duration) {
#if defined(__linux__)
  static thread_local const int set = prctl(PR_SET_TIMERSLACK, 1L, 0, 0, 0);
  static_cast<void>(set);
#endif
  struct timespec pause = {0, static_cast<long>(duration.count())};
  nanosleep(&pause, nullptr);
}

} // namespace

void agreeOnWaiting() {
  MPI_Comm machine;
  checkMpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                               MPI_INFO_NULL, &machine),
           "splitting the world into machines");
  int ranks = 1, any = 0;
  MPI_Comm_size(machine, &ranks);
  MPI_Comm_free(&machine);
  const int own = shareProcessors(ranks);
  checkMpi(MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD),
           "agreeing on how to wait");
  isShared = any != 0;
}

void awaitMpi(MPI_Request *requests, int count, const char *what) {
  if (!isShared)
    return checkMpi(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE), what);
  constexpr Duration patience = std::chrono::microseconds(20);
  constexpr Duration least = std::chrono::microseconds(10);
  constexpr Duration most = std::chrono::microseconds(200);
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    int isDone = 0;
    checkMpi(MPI_Testall(count, requests, &isDone, MPI_STATUSES_IGNORE), what);
    if (isDone)
      return;
    // To look costs a processor microseconds: who waits for long looks seldom,
    // and is late by a share of what it waits.
    const Duration waited = std::chrono::steady_clock::now() - start;
    if (waited < patience)
      sched_yield();
    else
      sleepFor(std::min(most, std::max(least, waited / 4)));
  }
}

void meetBeforeMpi(MPI_Comm handle, const char *what) {
  if (!isShared)
    return;
  MPI_Request request;
  checkMpi(MPI_Ibarrier(handle, &request), what);
  awaitMpi(&request, 1, what);
}

} // namespace runtime
} // namespace parplan
