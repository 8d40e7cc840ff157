//===- storage_ring.cpp - Reading and writing by io_uring -----------------===//

#include "storage.h"

#if defined(PARPLAN_WITH_URING)
#include <algorithm>
#include <cerrno>
#include <liburing.h>
#endif

namespace parplan {
namespace runtime {

#if defined(PARPLAN_WITH_URING)

namespace {

class RingQueue : public StorageQueue {
public:
  static std::unique_ptr<StorageQueue> make(int descriptor) {
    std::unique_ptr<RingQueue> queue(new RingQueue(descriptor));
    queue->isOpen = io_uring_queue_init(depth, &queue->ring, 0) == 0;
    if (!queue->isOpen || !queue->canRead())
      return nullptr;
    return queue;
  }
  ~RingQueue() override {
    if (isOpen)
      io_uring_queue_exit(&ring);
  }

  int run(bool write, int64_t offset, char *memory, int64_t bytes) override {
    int error = 0, flying = 0;
    int64_t begun = 0;
    // The slots of requests that may be begun.
    int idle[depth], idleCount = depth;
    for (int i = 0; i < depth; ++i)
      idle[i] = i;
    while (flying > 0 || (begun < bytes && error == 0)) {
      while (begun < bytes && idleCount > 0 && error == 0) {
        const int slot = idle[--idleCount];
        const int64_t size = std::min(pieceBytes, bytes - begun);
        requests[slot] = {write, offset + begun, memory + begun, size};
        begun += size;
        error = submit(slot);
        flying += error == 0;
      }
      if (flying == 0)
        break;
      const int slot = await(error);
      if (slot < 0)
        return error;
      Request &request = requests[slot];
      // The rest of a request that was served in part.
      if (request.bytes > 0 && error == 0) {
        error = submit(slot);
        if (error == 0)
          continue;
      }
      idle[idleCount++] = slot;
      --flying;
    }
    return error;
  }

private:
  static constexpr int depth = 8;
  struct Request {
    bool write;
    int64_t offset;
    char *memory;
    int64_t bytes;
  };

  explicit RingQueue(int descriptor) : descriptor(descriptor) {}

  /// Kernels before 5.6 have rings without these requests.
  bool canRead() {
    io_uring_probe *probe = io_uring_get_probe_ring(&ring);
    const bool can = probe && io_uring_opcode_supported(probe, IORING_OP_READ);
    if (probe)
      io_uring_free_probe(probe);
    return can;
  }

  /// 0, or why the kernel does not take the request.
  int submit(int slot) {
    const Request &request = requests[slot];
    io_uring_sqe *entry = io_uring_get_sqe(&ring);
    const auto size = static_cast<unsigned>(request.bytes);
    const auto offset = static_cast<uint64_t>(request.offset);
    if (request.write)
      io_uring_prep_write(entry, descriptor, request.memory, size, offset);
    else
      io_uring_prep_read(entry, descriptor, request.memory, size, offset);
    entry->user_data = static_cast<uint64_t>(slot);
    int taken = 0;
    do
      taken = io_uring_submit(&ring);
    while (taken < 0 && isPassing(-taken));
    return taken < 0 ? -taken : 0;
  }

  /// Interrupted, or the kernel is short of memory for a moment.
  static bool isPassing(int error) {
    return error == EINTR || error == EAGAIN || error == EBUSY;
  }

  /// The slot of a request that has been served, of which `bytes` are left. -1:
  /// the ring itself fails, and nothing that flies will be heard of.
  int await(int &error) {
    io_uring_cqe *entry = nullptr;
    int status = 0;
    do
      status = io_uring_wait_cqe(&ring, &entry);
    while (status < 0 && isPassing(-status));
    if (status < 0) {
      error = -status;
      return -1;
    }
    const int slot = static_cast<int>(entry->user_data);
    const int moved = entry->res;
    io_uring_cqe_seen(&ring, entry);
    Request &request = requests[slot];
    if (moved > 0) {
      request.offset += moved;
      request.memory += moved;
      request.bytes -= moved;
    } else if (moved != -EINTR && moved != -EAGAIN && error == 0) {
      error = moved < 0 ? -moved : EIO;
    }
    return slot;
  }

  const int descriptor;
  bool isOpen = false;
  io_uring ring;
  Request requests[depth];
};

} // namespace

std::unique_ptr<StorageQueue> createRingQueue(int descriptor) {
  return RingQueue::make(descriptor);
}

#else

std::unique_ptr<StorageQueue> createRingQueue(int) { return nullptr; }

#endif

} // namespace runtime
} // namespace parplan
