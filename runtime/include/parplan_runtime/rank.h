//===- rank.h - What one rank of a running program hangs off --------------===//

#ifndef PARPLAN_RUNTIME_RANK_H
#define PARPLAN_RUNTIME_RANK_H

#include "parplan_runtime/communicator.h"
#include "parplan_runtime/stream.h"
#include "parplan_runtime/tables.h"

namespace parplan {
namespace runtime {

/// The block of a split dimension that a rank keeps.
struct Interval {
  int64_t start;
  /// Elements that exist; the block is `size` long, the rest is padding.
  int64_t valid;
  int64_t size;
};

class Rank {
public:
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;
  virtual ~Rank() = default;

  int rank() const { return position; }
  int size() const { return ranks; }
  const Program &program() const { return table; }
  /// What this rank runs: the stage of its position in the pipeline.
  const Stage &stage() const { return *ownStage; }
  /// On a server without a common step: the worker that it serves now.
  int worker() const { return servedWorker; }

  /// This rank's coordinate on a mesh axis.
  int64_t coordinate(int32_t axis) const;
  /// The block of a dimension of `size` split by `axes` (nested ceilings); that
  /// of the rank `back` positions before this one in the ring of `axes`.
  Interval block(int64_t size, std::initializer_list<int32_t> axes,
                 int64_t back = 0) const {
    return block(size, Table<int32_t>(axes.begin(), axes.size()), back);
  }
  Interval block(int64_t size, Table<int32_t> axes, int64_t back = 0) const;
  int64_t blockStart(int64_t size, std::initializer_list<int32_t> axes,
                     int64_t back = 0) const {
    return block(size, axes, back).start;
  }
  int64_t blockExtent(int64_t size, std::initializer_list<int32_t> axes,
                      int64_t back = 0) const {
    return block(size, axes, back).valid;
  }

  /// Address of byte `offset` of the arena (device memory on CUDA).
  template <typename Element> Element *at(int64_t offset) const {
    return reinterpret_cast<Element *>(arena + offset);
  }
  /// Address of byte `offset` of the host's arena.
  template <typename Element> Element *hostAt(int64_t offset) const {
    return reinterpret_cast<Element *>(hostArena + offset);
  }
  Workspace workspace(int64_t offset, int64_t bytes) const {
    return {arena + offset, bytes};
  }

  virtual Stream &stream(int32_t index) = 0;
  virtual Communicator &communicator(int32_t index) = 0;
  /// The event completes when everything enqueued on the stream so far has.
  virtual void record(int32_t event, Stream &stream) = 0;
  /// What is enqueued on the stream from now on starts after the last record
  /// of the event; no wait when it was never recorded.
  virtual void wait(int32_t event, Stream &stream) = 0;

protected:
  Rank(const Program &program, int rank, int size);

  const Program &table;
  const Stage *ownStage;
  int servedWorker = 0;
  int position;
  int ranks;
  char *arena = nullptr;
  char *hostArena = nullptr;
};

/// The main function of an emitted program: options, launch, ranks, steps,
/// outputs, metrics. Returns the exit code.
int runProgram(const Program &program, int argc, char **argv);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_RANK_H
