//===- WireFilter.cpp - Drops what the importer does not read --*- C++ -*-===//
//
// Part of parplan. Field numbers are those of onnx.proto.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Load/WireFilter.h"

#include "lib/Import/Load/WireReader.h"

#include <charconv>

namespace parplan::importer {

namespace {

enum ModelField {
  modelDoc = 6,
  modelGraph = 7,
  modelMetadata = 14,
  training = 20
};
enum GraphField {
  graphNode = 1,
  graphInitializer = 5,
  graphDoc = 10,
  graphValueInfo = 13,
  graphQuantization = 14,
  graphMetadata = 16
};
enum NodeField {
  nodeOutput = 2,
  nodeName = 3,
  nodeDoc = 6,
  nodeMetadata = 9,
  nodeDevices = 10
};
enum TensorField {
  tensorType = 2,
  tensorFloats = 4,
  tensorRaw = 9,
  tensorDoubles = 10,
  tensorDoc = 12,
  tensorMetadata = 16
};
enum ValueInfoField { valueName = 1, valueMetadata = 4 };
enum EntryField { entryKey = 1, entryValue = 2 };

constexpr std::string_view kindKey =
    "pkg.torch.export.graph_signature.InputSpec.kind";

constexpr std::string_view callKey = "pkg.torch.onnx.fx_node";

/// `.. aten.embedding.default](args = (%weight, %ids, 0), kwargs = ..`: the
/// third argument, -1 where there is none.
std::optional<int64_t> parsePaddingId(std::string_view call) {
  constexpr std::string_view callee = "aten.embedding.default](args = (";
  size_t start = call.find(callee);
  if (start == std::string_view::npos)
    return std::nullopt;
  std::string_view arguments = call.substr(start + callee.size());
  arguments = arguments.substr(0, arguments.find(')'));
  for (int skipped = 0; skipped < 2; ++skipped) {
    size_t comma = arguments.find(',');
    if (comma == std::string_view::npos)
      return std::nullopt;
    arguments.remove_prefix(comma + 1);
  }
  arguments = arguments.substr(0, arguments.find(','));
  while (!arguments.empty() && arguments.front() == ' ')
    arguments.remove_prefix(1);
  int64_t id = -1;
  auto [end, error] = std::from_chars(arguments.data(),
                                      arguments.data() + arguments.size(), id);
  if (error != std::errc() || end != arguments.data() + arguments.size() ||
      id < 0)
    return std::nullopt;
  return id;
}

class Filter {
public:
  explicit Filter(std::string_view file) : file(file) {}

  bool filterModel() {
    WireReader reader(file);
    WireField field;
    while (reader.next(field)) {
      if (field.number == modelGraph && field.type == WireField::bytes) {
        if (!filterGraph(field.content))
          return false;
      } else if (field.number != modelDoc && field.number != modelMetadata &&
                 field.number != training) {
        result.bytes += field.whole;
      }
    }
    return finish(reader);
  }

  FilteredModel result;
  uint64_t malformedAt = 0;

private:
  bool finish(const WireReader &reader) {
    if (reader.isMalformed())
      malformedAt = reader.getPosition() - file.data();
    return !reader.isMalformed();
  }

  /// Opens a nested message of a length that is not known yet: five bytes hold
  /// any length below 2^35.
  size_t open(uint32_t number) {
    result.bytes += char(number << 3 | WireField::bytes);
    result.bytes.append(5, '\0');
    return result.bytes.size();
  }
  void close(size_t start) {
    uint64_t length = result.bytes.size() - start;
    for (int i = 0; i < 5; ++i)
      result.bytes[start - 5 + i] =
          char((length >> (7 * i) & 0x7f) | (i < 4 ? 0x80 : 0));
  }

  bool filterGraph(std::string_view graph) {
    size_t start = open(modelGraph);
    WireReader reader(graph);
    WireField field;
    while (reader.next(field)) {
      if (field.type != WireField::bytes)
        continue;
      if (field.number == graphNode) {
        if (!filterNode(field.content))
          return false;
      } else if (field.number == graphInitializer) {
        if (!filterInitializer(field.content))
          return false;
      } else if (field.number == graphValueInfo) {
        if (!readValueInfo(field.content))
          return false;
      } else if (field.number != graphDoc &&
                 field.number != graphQuantization &&
                 field.number != graphMetadata) {
        result.bytes += field.whole;
      }
    }
    close(start);
    return finish(reader);
  }

  bool filterNode(std::string_view node) {
    result.nodes.push_back({uint64_t(node.data() - file.data()), node.size()});
    size_t start = open(graphNode);
    WireReader reader(node);
    WireField field;
    while (reader.next(field))
      if (field.number != nodeName && field.number != nodeDoc &&
          field.number != nodeMetadata && field.number != nodeDevices)
        result.bytes += field.whole;
    close(start);
    return finish(reader);
  }

  bool filterInitializer(std::string_view tensor) {
    // Packed floats are the same bytes as raw ones, if in one piece.
    uint64_t type = 0;
    int pieces = 0;
    WireReader scout(tensor);
    WireField field;
    while (scout.next(field)) {
      if (field.number == tensorType && field.type == WireField::varint)
        type = field.value;
      pieces += field.number == tensorFloats || field.number == tensorDoubles;
    }
    if (!finish(scout))
      return false;

    size_t start = open(graphInitializer);
    std::optional<FileSpan> bytes;
    WireReader reader(tensor);
    while (reader.next(field)) {
      bool isPacked =
          pieces == 1 && ((field.number == tensorFloats && type == 1) ||
                          (field.number == tensorDoubles && type == 11));
      if (field.type == WireField::bytes &&
          (field.number == tensorRaw || isPacked))
        bytes = FileSpan{uint64_t(field.content.data() - file.data()),
                         field.content.size()};
      else if (field.number != tensorDoc && field.number != tensorMetadata)
        result.bytes += field.whole;
    }
    close(start);
    result.initializers.push_back(bytes);
    return true;
  }

  bool readValueInfo(std::string_view info) {
    std::string_view name;
    WireReader reader(info);
    WireField field;
    while (reader.next(field)) {
      if (field.type != WireField::bytes)
        continue;
      if (field.number == valueName)
        name = field.content;
      else if (field.number == valueMetadata && !readMark(field.content, name))
        return false;
    }
    return finish(reader);
  }

  bool readMark(std::string_view entry, std::string_view name) {
    std::string_view key, value;
    WireReader reader(entry);
    WireField field;
    while (reader.next(field))
      if (field.number == entryKey)
        key = field.content;
      else if (field.number == entryValue)
        value = field.content;
    if (key == kindKey && value == "PARAMETER")
      result.marks[name] = InitializerMark::parameter;
    else if (key == kindKey && value == "BUFFER")
      result.marks[name] = InitializerMark::buffer;
    return finish(reader);
  }

  std::string_view file;
};

} // namespace

std::optional<FilteredModel> filterModel(std::string_view file,
                                         uint64_t &malformedAt) {
  Filter filter(file);
  if (filter.filterModel())
    return std::move(filter.result);
  malformedAt = filter.malformedAt;
  return std::nullopt;
}

std::string readNodeName(std::string_view file, FileSpan span) {
  std::string_view name, output;
  WireReader reader(file.substr(span.offset, span.length));
  WireField field;
  while (reader.next(field)) {
    if (field.number == nodeName)
      name = field.content;
    else if (field.number == nodeOutput && output.empty())
      output = field.content;
  }
  return std::string(name.empty() ? output : name);
}

std::optional<int64_t> readPaddingId(std::string_view file, FileSpan span) {
  WireReader reader(file.substr(span.offset, span.length));
  WireField field;
  while (reader.next(field)) {
    if (field.number != nodeMetadata || field.type != WireField::bytes)
      continue;
    std::string_view key, value;
    WireReader entry(field.content);
    WireField part;
    while (entry.next(part)) {
      if (part.number == entryKey)
        key = part.content;
      else if (part.number == entryValue)
        value = part.content;
    }
    if (key == callKey)
      return parsePaddingId(value);
  }
  return std::nullopt;
}

} // namespace parplan::importer
