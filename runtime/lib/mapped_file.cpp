//===- mapped_file.cpp - A file in memory ---------------------------------===//

#include "mapped_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace parplan {
namespace runtime {

bool MappedFile::open(const std::string &path, std::string &reason) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    reason = std::strerror(errno);
    return false;
  }
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    reason = "not a regular file";
    close(descriptor);
    return false;
  }
  bytes = status.st_size;
  if (bytes > 0) {
    void *memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ,
                        MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) {
      reason = std::strerror(errno);
      bytes = 0;
      close(descriptor);
      return false;
    }
    begin = static_cast<const char *>(memory);
  }
  close(descriptor);
  return true;
}

void MappedFile::forget() const {
  if (begin)
    madvise(const_cast<char *>(begin), static_cast<size_t>(bytes),
            MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (begin)
    munmap(const_cast<char *>(begin), static_cast<size_t>(bytes));
}

} // namespace runtime
} // namespace parplan
