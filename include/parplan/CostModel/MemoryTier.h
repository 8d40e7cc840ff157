//===- MemoryTier.h - Where values lie --------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_COSTMODEL_MEMORYTIER_H
#define PARPLAN_COSTMODEL_MEMORYTIER_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace parplan {

enum class MemoryTier { device, host, nvme };

/// "device", "host", "nvme": the names of attributes.
llvm::StringRef stringifyMemoryTier(MemoryTier tier);
std::optional<MemoryTier> parseMemoryTier(llvm::StringRef text);

} // namespace parplan

#endif // PARPLAN_COSTMODEL_MEMORYTIER_H
