//===- Collective.cpp - Kinds of communication ----------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/CostModel/Collective.h"
#include "parplan/Support/Check.h"

using namespace parplan;

std::string_view parplan::stringifyCollectiveKind(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::allReduce:
    return "all_reduce";
  case CollectiveKind::allGather:
    return "all_gather";
  case CollectiveKind::reduceScatter:
    return "reduce_scatter";
  case CollectiveKind::broadcast:
    return "broadcast";
  case CollectiveKind::reduce:
    return "reduce";
  case CollectiveKind::allToAll:
    return "all_to_all";
  case CollectiveKind::send:
    return "send";
  case CollectiveKind::receive:
    return "recv";
  }
  PARPLAN_UNREACHABLE("unknown kind of communication");
}

std::optional<CollectiveKind>
parplan::parseCollectiveKind(std::string_view text) {
  for (CollectiveKind kind : allCollectiveKinds)
    if (stringifyCollectiveKind(kind) == text)
      return kind;
  return std::nullopt;
}
