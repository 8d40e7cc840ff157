//===- ExternalFiles.cpp - Files that a model points to --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Load/ExternalFiles.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace parplan::importer {

std::string checkExternalPath(const std::string &location) {
  std::string problem =
      concat("has external data at ", quoteName(location), ", ");
  if (location.empty())
    return "has external data without a location";
  if (location.size() > 4096 || location.find('\0') != std::string::npos)
    return problem + "which is not a path";
  if (location.front() == '/' || location.find('\\') != std::string::npos)
    return problem + "which is not a relative path";
  for (std::string_view part : splitText(location, '/'))
    if (part.empty() || part == "." || part == "..")
      return problem + "which does not stay in the folder of the model";
  return "";
}

ExternalFile::~ExternalFile() {
  if (file >= 0)
    ::close(file);
}

std::string ExternalFile::open(const std::string &modelPath,
                               const std::string &location) {
  size_t slash = modelPath.rfind('/');
  std::string folder =
      slash == std::string::npos ? "." : modelPath.substr(0, slash + 1);
  int at = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::vector<std::string_view> parts = splitText(location, '/');
  for (size_t i = 0; at >= 0 && i < parts.size(); ++i) {
    // Neither a link nor a FIFO can lead or hold us elsewhere.
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    if (i + 1 < parts.size())
      flags |= O_DIRECTORY;
    int next = ::openat(at, std::string(parts[i]).c_str(), flags);
    int error = errno;
    ::close(at);
    errno = error;
    at = next;
  }
  if (at < 0)
    return errno == ELOOP ? "it is a symbolic link" : std::strerror(errno);
  file = at;
  struct stat status;
  if (fstat(file, &status) != 0)
    return std::strerror(errno);
  if (!S_ISREG(status.st_mode))
    return "not a regular file";
  size = status.st_size;
  return "";
}

std::optional<std::string> ExternalFile::read(int64_t offset,
                                              int64_t length) const {
  if (length < 0 || length > size || offset < 0 || offset > size - length)
    return std::nullopt;
  std::string bytes(length, '\0');
  int64_t done = 0;
  while (done < length) {
    ssize_t count =
        ::pread(file, bytes.data() + done, length - done, offset + done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return std::nullopt;
    done += count;
  }
  return bytes;
}

} // namespace parplan::importer
