//===- output_file.cpp - Files that appear whole or not at all ------------===//

#include "output_file.h"
#include "failure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace parplan {
namespace runtime {

OutputFile::OutputFile(const std::string &path)
    : path(path), temporary(path + ".partial") {
  descriptor =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    fail(exitCannotCreate,
         "cannot write " + quoted(path) + ": " + std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (descriptor < 0)
    return;
  close(descriptor);
  unlink(temporary.c_str());
}

void OutputFile::failed(const char *what) {
  const std::string reason = std::strerror(errno);
  unlink(temporary.c_str());
  fail(exitInputOutput,
       std::string("cannot ") + what + " " + quoted(path) + ": " + reason);
}

void OutputFile::write(int64_t offset, const void *data, int64_t bytes) {
  const char *from = static_cast<const char *>(data);
  const int64_t piece = int64_t(1) << 28;
  while (bytes > 0) {
    const ssize_t done =
        pwrite(descriptor, from,
               static_cast<size_t>(bytes < piece ? bytes : piece), offset);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      failed("write");
    from += done;
    offset += done;
    bytes -= done;
  }
}

void OutputFile::commit() {
  if (fsync(descriptor) != 0)
    failed("write");
  const int finished = descriptor;
  descriptor = -1;
  if (close(finished) != 0 ||
      std::rename(temporary.c_str(), path.c_str()) != 0 ||
      !synchronizeFolder(folderOf(path)))
    failed("finish");
}

bool synchronizeFolder(const std::string &folder) {
  const int descriptor =
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return false;
  // Some file systems cannot, and need not, synchronise folders.
  const bool good = fsync(descriptor) == 0 || errno == EINVAL;
  close(descriptor);
  return good;
}

std::string folderOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool makeFolders(const std::string &path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    if (mkdir(path.substr(0, slash).c_str(), 0777) != 0 && errno != EEXIST)
      return false;
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
    return false;
  return access(path.c_str(), W_OK | X_OK) == 0;
}

} // namespace runtime
} // namespace parplan
