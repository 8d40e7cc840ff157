//===- mpi_world.cpp - Ranks that are MPI processes -----------------------===//

#include "mpi_world.h"
#include "failure.h"
#include "mpi_wait.h"

#include <cstring>
#include <mpi.h>

namespace parplan {
namespace runtime {

void checkMpi(int status, const char *what) {
  if (status == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  fail(exitPeerLost, std::string(what) + ": " + text);
}

namespace {

class MpiWorld : public World {
public:
  explicit MpiWorld(int expectedSize) {
    int provided = 0, started = 0, size = 0;
    MPI_Initialized(&started);
    if (!started && MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE,
                                    &provided) != MPI_SUCCESS)
      fail(exitDisagreement, "MPI does not start");
    MPI_Query_thread(&provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &position);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    setMessageRank(position);
    if (size != expectedSize)
      fail(exitDisagreement, "the plan is for " + std::to_string(expectedSize) +
                                 " ranks, MPI was started with " +
                                 std::to_string(size));
    if (provided < MPI_THREAD_MULTIPLE)
      fail(exitDisagreement,
           "this MPI does not support calls from several threads");
    ranks = size;
    registerWait(position, wait);
    WaitScope scope(wait, "agreement", "service");
    agreeOnWaiting();
  }
  int rank() const override { return position; }
  int size() const override { return ranks; }
  void barrier() override {
    WaitScope scope(wait, "barrier", "service");
    checkMpi(MPI_Barrier(MPI_COMM_WORLD), "barrier");
  }
  void sendToRoot(int from, const void *data, void *out,
                  int64_t bytes) override {
    if (from == 0) {
      if (position == 0 && data != out)
        std::memcpy(out, data, static_cast<size_t>(bytes));
      return;
    }
    WaitScope scope(wait, "gather", "service");
    ++gathered.calls;
    gathered.bytes += bytes;
    const int64_t piece = int64_t(1) << 30;
    for (int64_t start = 0; start < bytes; start += piece) {
      const int part =
          static_cast<int>(bytes - start < piece ? bytes - start : piece);
      if (position == from)
        checkMpi(MPI_Send(static_cast<const char *>(data) + start, part,
                          MPI_BYTE, 0, 1, MPI_COMM_WORLD),
                 "gather");
      else
        checkMpi(MPI_Recv(static_cast<char *>(out) + start, part, MPI_BYTE,
                          from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "gather");
    }
  }

  void broadcastFromRoot(void *data, int64_t bytes) override {
    WaitScope scope(wait, "broadcast", "service");
    ++broadcasted.calls;
    broadcasted.bytes += bytes;
    checkMpi(
        MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD),
        "broadcast");
  }

  void tell(int to, int32_t kind, int64_t number) override {
    // Short enough to be on its way at once.
    const Note note = {position, kind, number};
    checkMpi(MPI_Send(&note, sizeof note, MPI_BYTE, to, 2, MPI_COMM_WORLD),
             "note");
  }
  Note hear() override {
    WaitScope scope(wait, "note", "service");
    ++heard.calls;
    heard.bytes += sizeof(Note);
    Note note;
    checkMpi(MPI_Recv(&note, sizeof note, MPI_BYTE, MPI_ANY_SOURCE, 2,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "note");
    return note;
  }

private:
  int position = 0;
  int ranks = 1;
};

} // namespace

std::unique_ptr<World> createMpiWorld(int expectedSize) {
  return std::unique_ptr<World>(new MpiWorld(expectedSize));
}

void finishMpi() {
  int started = 0, finished = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&finished);
  if (started && !finished)
    MPI_Finalize();
}

} // namespace runtime
} // namespace parplan
