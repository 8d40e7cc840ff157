//===- MemoryTier.cpp - Where values lie ----------------------------------===//

#include "parplan/CostModel/MemoryTier.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;

llvm::StringRef parplan::stringifyMemoryTier(MemoryTier tier) {
  switch (tier) {
  case MemoryTier::device:
    return "device";
  case MemoryTier::host:
    return "host";
  case MemoryTier::nvme:
    return "nvme";
  }
  PARPLAN_UNREACHABLE("unknown tier ", static_cast<int>(tier));
}

std::optional<MemoryTier> parplan::parseMemoryTier(llvm::StringRef text) {
  for (MemoryTier tier :
       {MemoryTier::device, MemoryTier::host, MemoryTier::nvme})
    if (stringifyMemoryTier(tier) == text)
      return tier;
  return std::nullopt;
}
