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
  Call call = {CallKind::AllReduce};
  call.reduction = kind;
  call.type = type;
  call.in = in;
  call.out = out;
  call.count = elements;
  count(stream, buffers, call);
}

void Communicator::allGather(Stream &stream, Buffers buffers, ElementType type,
                             const void *in, void *out, int64_t elements) {
  Call call = {CallKind::AllGather};
  call.type = type;
  call.in = in;
  call.out = out;
  call.count = elements;
  count(stream, buffers, call);
}

void Communicator::reduceScatter(Stream &stream, Buffers buffers,
                                 Reduction kind, ElementType type,
                                 const void *in, void *out, int64_t elements) {
  Call call = {CallKind::ReduceScatter};
  call.reduction = kind;
  call.type = type;
  call.in = in;
  call.out = out;
  call.count = elements;
  count(stream, buffers, call);
}

void Communicator::allToAll(Stream &stream, Buffers buffers, ElementType type,
                            const void *in, void *out, int64_t elements) {
  Call call = {CallKind::AllToAll};
  call.type = type;
  call.in = in;
  call.out = out;
  call.count = elements;
  count(stream, buffers, call);
}

void Communicator::broadcast(Stream &stream, Buffers buffers, ElementType type,
                             int root, const void *in, void *out,
                             int64_t elements) {
  Call call = {CallKind::Broadcast};
  call.type = type;
  call.root = root;
  call.in = in;
  call.out = out;
  call.count = elements;
  count(stream, buffers, call);
}

void Communicator::reduce(Stream &stream, Buffers buffers, Reduction kind,
                          ElementType type, int root, const void *in, void *out,
                          int64_t elements) {
  Call call = {CallKind::Reduce};
  call.reduction = kind;
  call.type = type;
  call.root = root;
  call.in = in;
  call.out = out;
  call.count = elements;
  count(stream, buffers, call);
}

void Communicator::send(Stream &stream, Buffers buffers, ElementType type,
                        int peer, const void *in, int64_t elements) {
  Call call = {CallKind::Send};
  call.type = type;
  call.root = peer;
  call.in = in;
  call.count = elements;
  count(stream, buffers, call);
}

void Communicator::receive(Stream &stream, Buffers buffers, ElementType type,
                           int peer, void *out, int64_t elements) {
  Call call = {CallKind::Receive};
  call.type = type;
  call.root = peer;
  call.out = out;
  call.count = elements;
  count(stream, buffers, call);
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
