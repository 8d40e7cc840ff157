//===- WireReader.h - Walks the fields of a protobuf message ----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_LOAD_WIREREADER_H
#define PARPLAN_LIB_IMPORT_LOAD_WIREREADER_H

#include <cstdint>
#include <string_view>

namespace parplan::importer {

/// One field as it lies in the bytes.
struct WireField {
  enum Type : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

  uint32_t number = 0;
  Type type = varint;
  /// Tag and content.
  std::string_view whole;
  /// The content of a field of type `bytes`.
  std::string_view content;
  /// The value of a field of type `varint`.
  uint64_t value = 0;
};

/// Reads field by field and never past the end. Groups, field number 0,
/// varints over ten bytes and lengths past the end are malformed.
class WireReader {
public:
  explicit WireReader(std::string_view message)
      : at(message.data()), end(message.data() + message.size()) {}

  /// Reads the next field. False at the end and on malformed bytes.
  bool next(WireField &field) {
    if (at == end || !isSound)
      return false;
    const char *start = at;
    uint64_t tag;
    isSound = readVarint(tag) && tag <= UINT32_MAX && (tag >> 3) != 0;
    if (!isSound)
      return false;
    field.number = uint32_t(tag >> 3);
    field.type = WireField::Type(tag & 7);
    field.content = {};
    switch (field.type) {
    case WireField::varint:
      isSound = readVarint(field.value);
      break;
    case WireField::fixed64:
      isSound = skip(8);
      break;
    case WireField::fixed32:
      isSound = skip(4);
      break;
    case WireField::bytes: {
      uint64_t length;
      isSound = readVarint(length) && length <= uint64_t(end - at);
      if (isSound) {
        field.content = {at, size_t(length)};
        at += length;
      }
      break;
    }
    default:
      isSound = false;
    }
    field.whole = {start, size_t(at - start)};
    return isSound;
  }

  bool isMalformed() const { return !isSound; }
  /// Where the reader stands; after a failure, near what is malformed.
  const char *getPosition() const { return at; }

private:
  bool readVarint(uint64_t &value) {
    value = 0;
    for (int shift = 0; shift < 70 && at != end; shift += 7) {
      auto byte = static_cast<uint8_t>(*at++);
      value |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        return shift < 63 || byte <= 1;
    }
    return false;
  }
  bool skip(uint64_t count) {
    if (count > uint64_t(end - at))
      return false;
    at += count;
    return true;
  }

  const char *at;
  const char *end;
  bool isSound = true;
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_LOAD_WIREREADER_H
