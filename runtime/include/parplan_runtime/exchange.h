//===- exchange.h - Blocks that change their rank -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_EXCHANGE_H
#define PARPLAN_RUNTIME_EXCHANGE_H

#include "parplan_runtime/communicator.h"
#include "parplan_runtime/kernels.h"

namespace parplan {
namespace runtime {

/// The rank at position p of the group sends `in` to sendTo[p] and receives
/// `out` from receiveFrom[p]. Where that is p itself, the block is copied and
/// nothing is sent.
inline void exchange(Communicator &communicator, Stream &stream,
                     Buffers buffers, ElementType type, Table<int32_t> sendTo,
                     Table<int32_t> receiveFrom, const void *in, void *out,
                     int64_t count) {
  const int self = communicator.rank();
  if (sendTo[self] == self) {
    copyBytes(stream, buffers, in, out, count * elementBytes(type));
    return;
  }
  communicator.beginGroup(stream);
  communicator.send(stream, buffers, type, sendTo[self], in, count);
  communicator.receive(stream, buffers, type, receiveFrom[self], out, count);
  communicator.endGroup(stream);
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_EXCHANGE_H
