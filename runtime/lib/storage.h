//===- storage.h - The file of the NVMe tier ------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_STORAGE_H
#define PARPLAN_RUNTIME_LIB_STORAGE_H

#include <cstdint>
#include <memory>
#include <string>

namespace parplan {
namespace runtime {

/// Reads or writes pieces of a file, several at a time.
class StorageQueue {
public:
  virtual ~StorageQueue() = default;
  /// Returns when all bytes have moved: 0, or the first error's errno.
  virtual int run(bool write, int64_t offset, char *memory, int64_t bytes) = 0;

  /// Of a transfer this much is one request.
  static constexpr int64_t pieceBytes = 512 << 10;
};
/// By io_uring; null where the library or the kernel lacks it.
std::unique_ptr<StorageQueue> createRingQueue(int descriptor);
/// By threads that block.
std::unique_ptr<StorageQueue> createThreadQueue(int descriptor);

/// One rank's arena on a disk. The file bypasses the system's cache where the
/// file system allows it; it has no name, so that nothing is left of a run that
/// is killed. Every failure ends the program with 74.
class Storage {
public:
  /// Makes the folder and reserves the space.
  static std::unique_ptr<Storage> open(const std::string &folder, int rank,
                                       int64_t bytes);
  ~Storage();
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;

  /// `offset` is a multiple of storageAlignment, and what lies between the end
  /// and the next multiple belongs to the range. Memory that is aligned so is
  /// read and written itself.
  void read(int64_t offset, char *to, int64_t bytes) {
    move(/*write=*/false, offset, to, bytes);
  }
  void write(int64_t offset, char *from, int64_t bytes) {
    move(/*write=*/true, offset, from, bytes);
  }
  /// Any range; its neighbours stay as they are.
  void load(int64_t offset, char *to, int64_t bytes) {
    access(/*write=*/false, offset, to, bytes);
  }
  void store(int64_t offset, const char *from, int64_t bytes) {
    access(/*write=*/true, offset, const_cast<char *>(from), bytes);
  }

private:
  Storage() = default;
  void move(bool write, int64_t offset, char *memory, int64_t bytes);
  void access(bool write, int64_t offset, char *memory, int64_t bytes);
  void run(bool write, int64_t offset, char *memory, int64_t bytes);

  std::string folder;
  int descriptor = -1;
  bool direct = false;
  /// For memory that is not aligned.
  static constexpr int64_t stagingBytes = 1 << 20;
  char *staging = nullptr;
  std::unique_ptr<StorageQueue> queue;
  /// Requests until one is made to fail; -1: none.
  int64_t faultIn = -1;
};

/// A copy between the host's arena and the file, as a task of a stream.
struct StorageTask {
  Storage *storage;
  int64_t offset;
  char *memory;
  int64_t bytes;
  bool write;
  void operator()() const {
    if (write)
      storage->write(offset, memory, bytes);
    else
      storage->read(offset, memory, bytes);
  }
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_STORAGE_H
