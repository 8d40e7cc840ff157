//===- MappedFile.cpp - A file as read-only memory -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Load/MappedFile.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace parplan::importer {

MappedFile::~MappedFile() {
  if (!bytes.empty())
    munmap(const_cast<char *>(bytes.data()), bytes.size());
}

std::string MappedFile::open(const std::string &path) {
  // Not blocking: a FIFO of that name must not hang the program.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return std::strerror(errno);
  std::string reason;
  struct stat status;
  if (fstat(file, &status) != 0)
    reason = std::strerror(errno);
  else if (!S_ISREG(status.st_mode))
    reason = "not a regular file";
  else if (status.st_size > 0) {
    void *start =
        mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (start == MAP_FAILED)
      reason = std::strerror(errno);
    else
      bytes = {static_cast<const char *>(start), size_t(status.st_size)};
  }
  ::close(file);
  return reason;
}

} // namespace parplan::importer
