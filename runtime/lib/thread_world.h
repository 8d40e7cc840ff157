//===- thread_world.h - Ranks that are threads of one process -------------===//

#ifndef PARPLAN_RUNTIME_LIB_THREAD_WORLD_H
#define PARPLAN_RUNTIME_LIB_THREAD_WORLD_H

#include "engine.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

namespace parplan {
namespace runtime {

/// Where `size` threads meet. All writes before a meeting are seen by all
/// after it.
class Meeting {
public:
  explicit Meeting(int size) : size(size) {}
  void await();

private:
  const int size;
  std::mutex mutex;
  std::condition_variable opened;
  int arrived = 0;
  uint64_t round = 0;
};

/// What the members of a local group share, for one communicator and stream.
struct LocalGroup {
  explicit LocalGroup(int size)
      : meeting(size), in(size), out(size), letters(size * size), ready(size),
        done(size) {}

  /// Messages from one member to another on their way: the sender posts, the
  /// receiver copies and counts it as taken.
  struct Letters {
    static constexpr uint64_t capacity = 64;
    struct Letter {
      const void *data;
      int64_t bytes;
      // On a device: what the receiver waits for, and the sender then.
      void *ready;
      void *done;
    };
    Letter ring[capacity];
    uint64_t posted = 0;
    uint64_t taken = 0;
  };

  Meeting meeting;
  std::vector<const void *> in;
  std::vector<void *> out;
  std::vector<Letters> letters;
  std::mutex mutex;
  std::condition_variable changed;
  /// On a device: the events of each member.
  std::vector<void *> ready;
  std::vector<void *> done;
};

/// What the rank threads of a process share.
class ThreadHub {
public:
  explicit ThreadHub(int size)
      : meeting(size), size(size), notes(static_cast<size_t>(size)) {}

  /// The group of these world ranks, made by the first that asks.
  LocalGroup &group(const std::string &communicator,
                    const std::vector<int> &members, int stream);

  Meeting meeting;
  const int size;
  /// Letters to rank 0, by sender.
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, const void *> toRoot;
  const void *fromRoot = nullptr;
  /// Notes that are not read yet, by reader.
  std::vector<std::deque<Note>> notes;

private:
  std::mutex groupMutex;
  std::map<std::string, std::unique_ptr<LocalGroup>> groups;
};

class ThreadWorld : public World {
public:
  ThreadWorld(ThreadHub &hub, int rank) : hub(hub), position(rank) {
    registerWait(rank, wait);
  }
  int rank() const override { return position; }
  int size() const override { return hub.size; }
  void barrier() override;
  void sendToRoot(int from, const void *data, void *out,
                  int64_t bytes) override;
  void broadcastFromRoot(void *data, int64_t bytes) override;
  void tell(int to, int32_t kind, int64_t number) override;
  Note hear() override;

  ThreadHub &hub;

private:
  int position;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_THREAD_WORLD_H
