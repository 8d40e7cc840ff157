//===- Limits.h - What the importer accepts ---------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_LOAD_LIMITS_H
#define PARPLAN_LIB_IMPORT_LOAD_LIMITS_H

#include <cstdint>

namespace parplan::importer::limits {

/// A protobuf message cannot be larger.
constexpr uint64_t fileBytes = (uint64_t(1) << 31) - 1;
/// Subgraphs inside subgraphs.
constexpr int graphDepth = 24;
/// Functions that call functions.
constexpr int callDepth = 64;
/// Calls and graphs inside one another, whatever they are of.
constexpr int entryDepth = 256;
/// Nodes after functions and loops are expanded.
constexpr int64_t nodes = int64_t(1) << 20;
constexpr int64_t minimumIrVersion = 3, maximumIrVersion = 13;
constexpr int64_t minimumOpset = 7, maximumOpset = 27;

} // namespace parplan::importer::limits

#endif // PARPLAN_LIB_IMPORT_LOAD_LIMITS_H
