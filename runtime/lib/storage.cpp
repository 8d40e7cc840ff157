//===- storage.cpp - The file of the NVMe tier ----------------------------===//

#include "storage.h"
#include "engine.h"
#include "failure.h"
#include "output_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace parplan {
namespace runtime {

namespace {
int64_t roundUp(int64_t bytes) {
  return (bytes + storageAlignment - 1) / storageAlignment * storageAlignment;
}
} // namespace

std::unique_ptr<Storage> Storage::open(const std::string &folder, int rank,
                                       int64_t bytes) {
  const auto refuse = [&](const char *what, int error) {
    fail(exitInputOutput, what + quoted(folder) + ": " + std::strerror(error));
  };
  std::unique_ptr<Storage> storage(new Storage);
  storage->folder = folder;
  std::string path = folder + "/rank-" + std::to_string(rank) + "-XXXXXX";
  if (!makeFolders(folder) ||
      (storage->descriptor = mkostemp(&path[0], O_CLOEXEC)) < 0)
    refuse("cannot make a file of the NVMe tier in ", errno);
  unlink(path.c_str());
  // A full disk is better known before the first step.
  const int64_t size = roundUp(bytes);
  if (fallocate(storage->descriptor, 0, 0, size) != 0 &&
      (errno != EOPNOTSUPP || ftruncate(storage->descriptor, size) != 0))
    refuse(
        ("no room for " + std::to_string(size) + " bytes of the NVMe tier in ")
            .c_str(),
        errno);
  const int flags = fcntl(storage->descriptor, F_GETFL);
  storage->direct = fcntl(storage->descriptor, F_SETFL, flags | O_DIRECT) == 0;
  void *memory = nullptr;
  if (posix_memalign(&memory, storageAlignment, stagingBytes) != 0)
    refuse("no memory for the NVMe tier in ", ENOMEM);
  storage->staging = static_cast<char *>(memory);
  // Some file systems take the flag and refuse the requests.
  if (storage->direct &&
      pread(storage->descriptor, memory, storageAlignment, 0) < 0 &&
      errno == EINVAL)
    storage->direct = fcntl(storage->descriptor, F_SETFL, flags) != 0;
  if (environmentNumber("PARPLAN_IO_URING", 1) != 0)
    storage->queue = createRingQueue(storage->descriptor);
  if (!storage->queue)
    storage->queue = createThreadQueue(storage->descriptor);
  // This request meets a failing disk.
  storage->faultIn = environmentNumber("PARPLAN_STORAGE_FAULT", -1);
  return storage;
}

Storage::~Storage() {
  queue.reset();
  std::free(staging);
  if (descriptor >= 0)
    close(descriptor);
}

void Storage::run(bool write, int64_t offset, char *memory, int64_t bytes) {
  int error = faultIn == 0 ? EIO : 0;
  if (faultIn >= 0)
    --faultIn;
  if (error == 0)
    error = queue->run(write, offset, memory, bytes);
  if (error != 0)
    fail(exitInputOutput, std::string("cannot ") +
                              (write ? "write to" : "read from") +
                              " the NVMe tier in " + quoted(folder) + ": " +
                              std::strerror(error));
}

void Storage::move(bool write, int64_t offset, char *memory, int64_t bytes) {
  int64_t done = bytes;
  if (direct)
    done = reinterpret_cast<uintptr_t>(memory) % storageAlignment == 0
               ? bytes / storageAlignment * storageAlignment
               : 0;
  if (done > 0)
    run(write, offset, memory, done);
  while (done < bytes) {
    const int64_t part = std::min(stagingBytes, bytes - done);
    const auto size = static_cast<size_t>(part);
    if (write)
      std::memcpy(staging, memory + done, size);
    run(write, offset + done, staging, roundUp(part));
    if (!write)
      std::memcpy(memory + done, staging, size);
    done += part;
  }
}

void Storage::access(bool write, int64_t offset, char *memory, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    const int64_t lead = (offset + done) % storageAlignment;
    const int64_t start = offset + done - lead;
    const int64_t part = std::min(stagingBytes - lead, bytes - done);
    const int64_t whole = roundUp(lead + part);
    if (!write || lead + part != whole || lead != 0)
      run(/*write=*/false, start, staging, whole);
    const auto size = static_cast<size_t>(part);
    if (write) {
      std::memcpy(staging + lead, memory + done, size);
      run(/*write=*/true, start, staging, whole);
    } else {
      std::memcpy(memory + done, staging + lead, size);
    }
    done += part;
  }
}

} // namespace runtime
} // namespace parplan
