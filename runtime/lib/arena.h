//===- arena.h - Memory of the host with a guard behind it ---------------===//

#ifndef PARPLAN_RUNTIME_LIB_ARENA_H
#define PARPLAN_RUNTIME_LIB_ARENA_H

#include <cstdint>

namespace parplan {
namespace runtime {

/// Zeroed memory of `bytes`, rounded up to pages, with an inaccessible page
/// behind it: a kernel that runs over the end ends the program.
class Arena {
public:
  Arena() = default;
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  /// False when the system does not give the memory.
  bool allocate(int64_t bytes);
  char *data() const { return base; }

private:
  char *mapping = nullptr;
  int64_t mappedBytes = 0;
  char *base = nullptr;
};

/// From now on large blocks of the heap go back to the system when they are
/// freed. By default the heap keeps as much as the largest block it ever had.
void keepHeapSmall();

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_ARENA_H
