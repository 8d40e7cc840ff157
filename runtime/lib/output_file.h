//===- output_file.h - Files that appear whole or not at all --------------===//

#ifndef PARPLAN_RUNTIME_LIB_OUTPUT_FILE_H
#define PARPLAN_RUNTIME_LIB_OUTPUT_FILE_H

#include <cstdint>
#include <string>

namespace parplan {
namespace runtime {

/// A file that is written as PATH.partial and renamed when it is complete. An
/// error removes it and ends the run with 73 (cannot be created) or 74.
class OutputFile {
public:
  explicit OutputFile(const std::string &path);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  void write(int64_t offset, const void *data, int64_t bytes);
  /// Makes it durable under its own name.
  void commit();

private:
  [[noreturn]] void failed(const char *what);

  std::string path;
  std::string temporary;
  int descriptor = -1;
};

/// Makes a folder's entries durable; false when that fails.
bool synchronizeFolder(const std::string &folder);
/// The folder that `path` is in.
std::string folderOf(const std::string &path);
/// Makes the folder and those above it; false when it cannot be written to.
bool makeFolders(const std::string &path);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_OUTPUT_FILE_H
