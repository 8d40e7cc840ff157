//===- communicator.cpp - Counting, common to all back ends ---------------===//

#include "parplan_runtime/communicator.h"
#include "engine.h"

namespace parplan {
namespace runtime {

/// Bytes as cli.md counts them, then the back end.
void Communicator::count(Stream &stream, Buffers buffers, const Call &call) {
  stream.touch(buffers);
  int64_t bytes = call.count * elementBytes(call.type);
  if (call.kind == CallKind::AllGather ||
      call.kind == CallKind::ReduceScatter || call.kind == CallKind::AllToAll)
    bytes *= ranks;
  // A group of one rank is no communication.
  if (ranks > 1)
    static_cast<EngineRank &>(stream.rank()).count(call.kind, label, bytes);
  issue(stream, call);
}

void Communicator::allReduce(Stream &stream, Buffers buffers, Reduction kind,
                             ElementType type, const void *in, void *out,
                             int64_t elements) {
  count(stream, buffers,
        {CallKind::AllReduce, Call::Group::None, kind, type, /*root=*/0, in,
         out, elements});
}

void Communicator::allGather(Stream &stream, Buffers buffers, ElementType type,
                             const void *in, void *out, int64_t elements) {
  count(stream, buffers,
        {CallKind::AllGather, Call::Group::None, Reduction::Sum, type,
         /*root=*/0, in, out, elements});
}

void Communicator::reduceScatter(Stream &stream, Buffers buffers,
                                 Reduction kind, ElementType type,
                                 const void *in, void *out, int64_t elements) {
  count(stream, buffers,
        {CallKind::ReduceScatter, Call::Group::None, kind, type, /*root=*/0, in,
         out, elements});
}

void Communicator::allToAll(Stream &stream, Buffers buffers, ElementType type,
                            const void *in, void *out, int64_t elements) {
  count(stream, buffers,
        {CallKind::AllToAll, Call::Group::None, Reduction::Sum, type,
         /*root=*/0, in, out, elements});
}

void Communicator::broadcast(Stream &stream, Buffers buffers, ElementType type,
                             int root, const void *in, void *out,
                             int64_t elements) {
  count(stream, buffers,
        {CallKind::Broadcast, Call::Group::None, Reduction::Sum, type, root, in,
         out, elements});
}

void Communicator::reduce(Stream &stream, Buffers buffers, Reduction kind,
                          ElementType type, int root, const void *in, void *out,
                          int64_t elements) {
  count(stream, buffers,
        {CallKind::Reduce, Call::Group::None, kind, type, root, in, out,
         elements});
}

void Communicator::send(Stream &stream, Buffers buffers, ElementType type,
                        int peer, const void *in, int64_t elements) {
  static_cast<EngineRank &>(stream.rank()).beforeSend(stream, *this);
  count(stream, buffers,
        {CallKind::Send, Call::Group::None, Reduction::Sum, type, peer, in,
         /*out=*/nullptr, elements});
}

void Communicator::receive(Stream &stream, Buffers buffers, ElementType type,
                           int peer, void *out, int64_t elements) {
  count(stream, buffers,
        {CallKind::Receive, Call::Group::None, Reduction::Sum, type, peer,
         /*in=*/nullptr, out, elements});
}

void Communicator::beginGroup(Stream &stream) {
  Call call = {CallKind::Send};
  call.group = Call::Group::Begin;
  issue(stream, call);
}

void Communicator::endGroup(Stream &stream) {
  Call call = {CallKind::Send};
  call.group = Call::Group::End;
  issue(stream, call);
}

} // namespace runtime
} // namespace parplan
