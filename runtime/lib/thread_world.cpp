//===- thread_world.cpp - Ranks that are threads of one process -----------===//

#include "thread_world.h"

#include <cstring>

namespace parplan {
namespace runtime {

void Meeting::await() {
  std::unique_lock<std::mutex> lock(mutex);
  const uint64_t mine = round;
  if (++arrived == size) {
    arrived = 0;
    ++round;
    opened.notify_all();
    return;
  }
  opened.wait(lock, [&] { return round != mine; });
}

LocalGroup &ThreadHub::group(const std::string &communicator,
                             const std::vector<int> &members, int stream) {
  std::string key = communicator + "/" + std::to_string(stream);
  for (int member : members)
    key += "/" + std::to_string(member);
  std::lock_guard<std::mutex> lock(groupMutex);
  std::unique_ptr<LocalGroup> &entry = groups[key];
  if (!entry)
    entry.reset(new LocalGroup(static_cast<int>(members.size())));
  return *entry;
}

void ThreadWorld::barrier() {
  WaitScope scope(wait, "barrier", "service");
  hub.meeting.await();
}

void ThreadWorld::sendToRoot(int from, const void *data, void *out,
                             int64_t bytes) {
  if (from == 0) {
    if (position == 0 && data != out)
      std::memcpy(out, data, static_cast<size_t>(bytes));
    return;
  }
  WaitScope scope(wait, "gather", "service");
  ++gathered.calls;
  gathered.bytes += bytes;
  std::unique_lock<std::mutex> lock(hub.mutex);
  if (position == from) {
    hub.toRoot[from] = data;
    hub.changed.notify_all();
    hub.changed.wait(lock, [&] { return hub.toRoot.count(from) == 0; });
  } else {
    hub.changed.wait(lock, [&] { return hub.toRoot.count(from) != 0; });
    std::memcpy(out, hub.toRoot[from], static_cast<size_t>(bytes));
    hub.toRoot.erase(from);
    hub.changed.notify_all();
  }
}

void ThreadWorld::broadcastFromRoot(void *data, int64_t bytes) {
  WaitScope scope(wait, "broadcast", "service");
  ++broadcasted.calls;
  broadcasted.bytes += bytes;
  if (position == 0)
    hub.fromRoot = data;
  hub.meeting.await();
  if (position != 0)
    std::memcpy(data, hub.fromRoot, static_cast<size_t>(bytes));
  hub.meeting.await();
}

void ThreadWorld::tell(int to, int32_t kind, int64_t number) {
  std::lock_guard<std::mutex> lock(hub.mutex);
  hub.notes[to].push_back({position, kind, number});
  hub.changed.notify_all();
}

Note ThreadWorld::hear() {
  WaitScope scope(wait, "note", "service");
  ++heard.calls;
  heard.bytes += sizeof(Note);
  std::unique_lock<std::mutex> lock(hub.mutex);
  std::deque<Note> &notes = hub.notes[position];
  hub.changed.wait(lock, [&] { return !notes.empty(); });
  const Note note = notes.front();
  notes.pop_front();
  return note;
}

} // namespace runtime
} // namespace parplan
