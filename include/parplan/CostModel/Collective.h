//===- Collective.h - Kinds of communication --------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_COSTMODEL_COLLECTIVE_H
#define PARPLAN_COSTMODEL_COLLECTIVE_H

#include <array>
#include <optional>
#include <string_view>

namespace parplan {

/// Sizes of calls are counted as in docs/cli.md: all-reduce, broadcast, reduce,
/// all-to-all: the buffer; all-gather: the gathered output; reduce-scatter: the
/// input; send and receive: the message.
enum class CollectiveKind {
  allReduce,
  allGather,
  reduceScatter,
  broadcast,
  reduce,
  allToAll,
  send,
  receive,
};

/// In the order in which documents list them.
constexpr std::array<CollectiveKind, 8> allCollectiveKinds = {
    CollectiveKind::allReduce,     CollectiveKind::allGather,
    CollectiveKind::reduceScatter, CollectiveKind::broadcast,
    CollectiveKind::reduce,        CollectiveKind::allToAll,
    CollectiveKind::send,          CollectiveKind::receive,
};

/// The name in documents: "all_reduce", ..., "send", "recv".
std::string_view stringifyCollectiveKind(CollectiveKind kind);
std::optional<CollectiveKind> parseCollectiveKind(std::string_view text);

} // namespace parplan

#endif // PARPLAN_COSTMODEL_COLLECTIVE_H
