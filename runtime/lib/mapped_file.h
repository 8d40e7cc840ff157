//===- mapped_file.h - A file in memory -----------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_MAPPED_FILE_H
#define PARPLAN_RUNTIME_LIB_MAPPED_FILE_H

#include <cstdint>
#include <string>

namespace parplan {
namespace runtime {

/// A regular file mapped read-only.
class MappedFile {
public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  /// False, with the reason, when it cannot be opened.
  bool open(const std::string &path, std::string &reason);
  const char *data() const { return begin; }
  int64_t size() const { return bytes; }
  /// Gives back the memory of what was read; the file stays readable.
  void forget() const;

private:
  const char *begin = nullptr;
  int64_t bytes = 0;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_MAPPED_FILE_H
