//===- WireFilter.h - Drops what the importer does not read -----*- C++ -*-===//
//
// Part of parplan.
//
// Nine tenths of an exported file are scopes, documentation, value infos and
// weights. The filter walks the tags of model, graph, node and initializer once
// and copies the rest, so that protobuf parses a fraction of the file. From
// what it drops it keeps what the importer wants later: where each node and the
// bytes of each initializer lie, and the exporter's word on what is a
// parameter.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_LOAD_WIREFILTER_H
#define PARPLAN_LIB_IMPORT_LOAD_WIREFILTER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace parplan::importer {

/// Bytes of the file.
struct FileSpan {
  uint64_t offset = 0;
  uint64_t length = 0;
};

enum class InitializerMark : uint8_t { none, parameter, buffer };

struct FilteredModel {
  /// The model without metadata, documentation, value infos and the raw bytes
  /// of the main graph's initializers.
  std::string bytes;
  /// The nodes of the main graph.
  std::vector<FileSpan> nodes;
  /// The raw bytes of the main graph's initializers that have some.
  std::vector<std::optional<FileSpan>> initializers;
  /// Marks of PyTorch's exporter; names point into the file.
  std::unordered_map<std::string_view, InitializerMark> marks;
};

/// Returns nothing if the file is not well-formed; `malformedAt` then is the
/// offset near which it is not.
std::optional<FilteredModel> filterModel(std::string_view file,
                                         uint64_t &malformedAt);

/// The name of a node that lies at `span`, or its first output if it has none.
std::string readNodeName(std::string_view file, FileSpan span);

/// The id whose row an embedding does not train (PyTorch's `padding_idx`), as
/// PyTorch's exporter notes it on the node at `span`. ONNX has no place for it.
std::optional<int64_t> readPaddingId(std::string_view file, FileSpan span);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_LOAD_WIREFILTER_H
