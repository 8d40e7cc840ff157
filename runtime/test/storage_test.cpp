//===- storage_test.cpp - The file of the NVMe tier -----------------------===//

#include "failure.h"
#include "parplan_runtime/tables.h"
#include "storage.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>
#include <vector>

namespace parplan {
namespace runtime {
namespace {

/// With rings where the kernel has them, and with threads.
class StorageTest : public testing::TestWithParam<const char *> {
protected:
  static constexpr int64_t size = (5 << 20) + 100;

  StorageTest() {
    setenv("PARPLAN_IO_URING", GetParam(), 1);
    storage = Storage::open(testing::TempDir(), 0, size);
    memory = std::aligned_alloc(storageAlignment, 8 << 20);
    std::mt19937 generator(11);
    expected.resize(size);
    for (char &byte : expected)
      byte = static_cast<char>(generator());
    storage->store(0, expected.data(), size);
  }
  ~StorageTest() override {
    std::free(memory);
    unsetenv("PARPLAN_IO_URING");
  }
  char *at(int64_t offset) { return static_cast<char *>(memory) + offset; }
  void expectContents() {
    std::vector<char> all(size);
    storage->load(0, all.data(), size);
    EXPECT_EQ(std::memcmp(all.data(), expected.data(), size), 0);
  }

  std::unique_ptr<Storage> storage;
  void *memory;
  std::vector<char> expected;
};

INSTANTIATE_TEST_SUITE_P(Queues, StorageTest, testing::Values("1", "0"));

TEST_P(StorageTest, ReadsIntoAnyMemory) {
  for (int64_t shift : {0, 64, 4096})
    for (int64_t bytes : {int64_t(1), int64_t(4096), int64_t(70000), size})
      for (int64_t offset : {0, 8192}) {
        if (offset + bytes > size)
          continue;
        std::memset(memory, 0, 8 << 20);
        storage->read(offset, at(shift), bytes);
        EXPECT_EQ(std::memcmp(at(shift), &expected[offset], bytes), 0);
        EXPECT_EQ(*at(shift + bytes), 0); // Nothing beyond its end.
      }
}

TEST_P(StorageTest, WritesFromAnyMemory) {
  std::mt19937 generator(12);
  for (int64_t shift : {0, 64})
    for (int64_t bytes : {int64_t(4096), int64_t(3) << 20}) {
      for (int64_t i = 0; i < bytes; ++i)
        *at(shift + i) = static_cast<char>(generator());
      storage->write(4096, at(shift), bytes);
      std::memcpy(&expected[4096], at(shift), bytes);
      expectContents();
    }
  // The rest of the last block belongs to the range.
  storage->write(0, at(0), 100);
  std::memcpy(expected.data(), at(0), 100);
  storage->load(0, at(4096), 100);
  EXPECT_EQ(std::memcmp(at(4096), expected.data(), 100), 0);
  storage->load(4096, at(4096), 4096);
  EXPECT_EQ(std::memcmp(at(4096), &expected[4096], 4096), 0);
}

TEST_P(StorageTest, StoresBesideNeighbours) {
  const struct {
    int64_t offset, bytes;
  } ranges[] = {{1, 1}, {4095, 2}, {5000, 1 << 20}, {size - 7, 7}};
  for (const auto &range : ranges) {
    std::memset(&expected[range.offset], 0x5a, range.bytes);
    storage->store(range.offset, &expected[range.offset], range.bytes);
    expectContents();
  }
}

/// Closes the process's rings; false when it has none.
bool closeRings() {
  bool closed = false;
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    char target[64] = "";
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    if (readlink(link.c_str(), target, sizeof target - 1) > 0 &&
        std::strstr(target, "[io_uring]"))
      closed |= close(descriptor) == 0;
  }
  return closed;
}

class StorageDeathTest : public StorageTest {
protected:
  StorageDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
INSTANTIATE_TEST_SUITE_P(Queues, StorageDeathTest, testing::Values("1", "0"));

TEST_P(StorageDeathTest, FailuresEndTheProgram) {
  EXPECT_EXIT(Storage::open(testing::TempDir(), 0, int64_t(1) << 60),
              testing::ExitedWithCode(74), "no room for 1152921504606846976");
  EXPECT_EXIT(Storage::open("/proc/none", 0, 100), testing::ExitedWithCode(74),
              "cannot make a file of the NVMe tier in '/proc/none'");
  EXPECT_EXIT(
      {
        setenv("PARPLAN_STORAGE_FAULT", "1", 1);
        auto other = Storage::open(testing::TempDir(), 0, 8192);
        other->write(0, at(0), 4096);
        other->read(4096, at(0), 4096);
      },
      testing::ExitedWithCode(74),
      "cannot read from the NVMe tier in .*Input/output error");
  // A ring that fails for good.
  EXPECT_EXIT(
      {
        auto other = Storage::open(testing::TempDir(), 0, 8192);
        if (!closeRings())
          fail(exitInputOutput, "Bad file descriptor");
        other->read(0, at(0), 4096);
      },
      testing::ExitedWithCode(74), "Bad file descriptor");
  // Beyond the end of the file.
  EXPECT_EXIT(
      {
        auto other = Storage::open(testing::TempDir(), 0, 8192);
        other->read(1 << 20, at(0), 4096);
      },
      testing::ExitedWithCode(74), "Input/output error");
}

} // namespace
} // namespace runtime
} // namespace parplan
