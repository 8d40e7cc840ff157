//===- communicator.h - Collectives in NCCL's shape -----------------------===//
//
// One interface over four back ends: `mpi` (host ranks are processes), `local`
// (ranks are threads of one process), `self` (one rank) and `nccl`.
//
// Every call counts itself and its bytes (cli.md's rules: the buffer; the
// gathered output; the input of reduce-scatter; the message) and appends the
// line "KIND COMMUNICATOR BYTES\n" to the order of communication, when it is
// enqueued. Counts are elements. `in` and `out` may be the same address.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_COMMUNICATOR_H
#define PARPLAN_RUNTIME_COMMUNICATOR_H

#include "parplan_runtime/stream.h"
#include "parplan_runtime/tables.h"

namespace parplan {
namespace runtime {

/// How elements are combined, in collectives and in reduction kernels.
enum class Reduction : int32_t { Sum, Max, Min, Product };

class Communicator {
public:
  virtual ~Communicator() = default;

  /// This rank's number in the group and the number of ranks.
  int rank() const { return position; }
  int size() const { return ranks; }
  const char *name() const { return label; }

  void allReduce(Stream &stream, Buffers buffers, Reduction kind,
                 ElementType type, const void *in, void *out, int64_t count);
  /// `out` holds size() blocks of `count` elements, by rank.
  void allGather(Stream &stream, Buffers buffers, ElementType type,
                 const void *in, void *out, int64_t count);
  /// `in` holds size() blocks of `count` elements; block r goes to rank r.
  void reduceScatter(Stream &stream, Buffers buffers, Reduction kind,
                     ElementType type, const void *in, void *out,
                     int64_t count);
  /// `in` and `out` hold size() blocks of `count` elements.
  void allToAll(Stream &stream, Buffers buffers, ElementType type,
                const void *in, void *out, int64_t count);
  void broadcast(Stream &stream, Buffers buffers, ElementType type, int root,
                 const void *in, void *out, int64_t count);
  /// `out` is written on the root only.
  void reduce(Stream &stream, Buffers buffers, Reduction kind, ElementType type,
              int root, const void *in, void *out, int64_t count);
  void send(Stream &stream, Buffers buffers, ElementType type, int peer,
            const void *in, int64_t count);
  void receive(Stream &stream, Buffers buffers, ElementType type, int peer,
               void *out, int64_t count);
  /// Sends and receives between the two are issued together; either blocks
  /// until its peer answers when it stands alone.
  void beginGroup(Stream &stream);
  void endGroup(Stream &stream);

protected:
  Communicator(const char *name, int rank, int size)
      : label(name), position(rank), ranks(size) {}

  /// What a back end does on the stream; counting is done by the caller.
  struct Call;
  virtual void issue(Stream &stream, const Call &call) = 0;

private:
  void count(Stream &stream, Buffers buffers, const Call &call);

  const char *label;
  int position;
  int ranks;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_COMMUNICATOR_H
