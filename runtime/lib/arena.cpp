//===- arena.cpp - Memory of the host with a guard behind it -------------===//

#include "arena.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace parplan {
namespace runtime {

bool Arena::allocate(int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t huge = 2 << 20;
  const int64_t usable = (bytes + page - 1) / page * page;
  // Room to begin at a multiple of 2 MiB, where huge pages are worth it.
  const int64_t slack = usable >= huge ? huge : 0;
  mappedBytes = usable + page + slack;
  void *memory = mmap(nullptr, static_cast<size_t>(mappedBytes), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  mapping = static_cast<char *>(memory);
  base = mapping;
  if (slack) {
    const auto address = reinterpret_cast<uintptr_t>(mapping);
    base += (huge - static_cast<int64_t>(address % huge)) % huge;
  }
  if (usable == 0)
    return true;
  if (mprotect(base, static_cast<size_t>(usable), PROT_READ | PROT_WRITE) != 0)
    return false;
  if (slack)
    madvise(base, static_cast<size_t>(usable), MADV_HUGEPAGE);
  return true;
}

Arena::~Arena() {
  if (mapping)
    munmap(mapping, static_cast<size_t>(mappedBytes));
}

void keepHeapSmall() {
#if defined(__GLIBC__)
  // What products need comes and goes with each: it stays.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

} // namespace runtime
} // namespace parplan
