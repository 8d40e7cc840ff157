//===- MappedFile.h - A file as read-only memory ----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_LOAD_MAPPEDFILE_H
#define PARPLAN_LIB_IMPORT_LOAD_MAPPEDFILE_H

#include <string>
#include <string_view>
#include <utility>

namespace parplan::importer {

/// Unmaps when it goes. Pages are read when they are looked at.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept
      : bytes(std::exchange(other.bytes, {})) {}
  MappedFile &operator=(MappedFile &&other) noexcept {
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~MappedFile();

  /// Maps a regular file. On failure returns the system's reason, else "".
  std::string open(const std::string &path);

  std::string_view getBytes() const { return bytes; }

private:
  std::string_view bytes;
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_LOAD_MAPPEDFILE_H
