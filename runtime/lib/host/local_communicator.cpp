//===- local_communicator.cpp - Host ranks that are threads ---------------===//
//
// Members publish their pointers, meet, do their part of the work on each
// other's memory, and meet again. Reductions add in the order of the ranks.
//
//===----------------------------------------------------------------------===//

#include "combine.h"
#include "failure.h"
#include "host_communicator.h"
#include "host_stream.h"

#include <cstring>

namespace parplan {
namespace runtime {

namespace {

/// out[i] = the combination of the members' in[i], for i in [begin, end).
template <typename Element>
void combineAll(Reduction kind, const std::vector<const void *> &in, void *out,
                int64_t begin, int64_t end, int64_t outBegin) {
  auto *target = static_cast<Element *>(out) + outBegin;
  for (int64_t i = begin; i < end; ++i) {
    // 16-bit floats are added up as float and rounded once.
    Arithmetic<Element> value = static_cast<const Element *>(in[0])[i];
    for (size_t member = 1; member < in.size(); ++member)
      value = combine<Arithmetic<Element>>(
          kind, value, static_cast<const Element *>(in[member])[i]);
    target[i - begin] = Element(value);
  }
}

void combineAll(ElementType type, Reduction kind,
                const std::vector<const void *> &in, void *out, int64_t begin,
                int64_t end, int64_t outBegin) {
  switch (type) {
  case ElementType::Float32:
    return combineAll<float>(kind, in, out, begin, end, outBegin);
  case ElementType::Float64:
    return combineAll<double>(kind, in, out, begin, end, outBegin);
  case ElementType::Int64:
    return combineAll<int64_t>(kind, in, out, begin, end, outBegin);
  case ElementType::Int32:
    return combineAll<int32_t>(kind, in, out, begin, end, outBegin);
  case ElementType::Int16:
    return combineAll<int16_t>(kind, in, out, begin, end, outBegin);
  case ElementType::Int8:
    return combineAll<int8_t>(kind, in, out, begin, end, outBegin);
  case ElementType::UInt64:
    return combineAll<uint64_t>(kind, in, out, begin, end, outBegin);
  case ElementType::UInt32:
    return combineAll<uint32_t>(kind, in, out, begin, end, outBegin);
  case ElementType::UInt16:
    return combineAll<uint16_t>(kind, in, out, begin, end, outBegin);
  case ElementType::UInt8:
  case ElementType::Bool:
    return combineAll<uint8_t>(kind, in, out, begin, end, outBegin);
  case ElementType::Float16:
    return combineAll<Float16>(kind, in, out, begin, end, outBegin);
  case ElementType::BFloat16:
    return combineAll<BFloat16>(kind, in, out, begin, end, outBegin);
  }
  fail(exitInternal, "an unknown element type");
}

class LocalCommunicator : public Communicator {
public:
  LocalCommunicator(const char *name, int rank, const std::vector<int> &members,
                    ThreadWorld &world, const std::vector<int32_t> &streams)
      : Communicator(name, rank, static_cast<int>(members.size())),
        groups(streams.empty() ? 0 : static_cast<size_t>(streams.back()) + 1),
        pending(groups.size()) {
    for (int32_t stream : streams)
      groups[stream] = &world.hub.group(name, members, stream);
  }

private:
  /// Point-to-point calls between begin and end of a group.
  struct Pending {
    bool open = false;
    int count = 0;
    static constexpr int limit = 64;
    Call calls[limit];
  };

  void issue(Stream &stream, const Call &call) override {
    auto *queue = static_cast<HostStream *>(&stream);
    queue->enqueue([this, queue, call] { perform(*queue, call); });
  }

  void perform(HostStream &stream, const Call &call) {
    LocalGroup &group = *groups[stream.index()];
    Pending &list = pending[stream.index()];
    if (call.group == Call::Group::Begin) {
      list.open = true;
      list.count = 0;
      return;
    }
    WaitScope scope(stream.wait, callName(call.kind), name());
    if (call.group == Call::Group::End) {
      list.open = false;
      exchange(group, list.calls, list.count);
      return;
    }
    if (call.kind == CallKind::Send || call.kind == CallKind::Receive) {
      if (!list.open)
        return exchange(group, &call, 1);
      if (list.count == Pending::limit)
        fail(exitInternal, "a group has more than 64 messages");
      list.calls[list.count++] = call;
      return;
    }
    collective(group, call);
  }

  /// Posts all letters, takes those addressed here, and waits until the own
  /// ones are taken.
  void exchange(LocalGroup &group, const Call *calls, int count) {
    std::unique_lock<std::mutex> lock(group.mutex);
    for (int i = 0; i < count; ++i) {
      const Call &call = calls[i];
      if (call.kind != CallKind::Send)
        continue;
      auto &letters = group.letters[rank() * size() + call.root];
      group.changed.wait(lock, [&] {
        return letters.posted - letters.taken < LocalGroup::Letters::capacity;
      });
      letters.ring[letters.posted++ % LocalGroup::Letters::capacity] = {
          call.in, call.count * elementBytes(call.type), nullptr, nullptr};
    }
    group.changed.notify_all();
    for (int i = 0; i < count; ++i) {
      const Call &call = calls[i];
      if (call.kind != CallKind::Receive)
        continue;
      auto &letters = group.letters[call.root * size() + rank()];
      group.changed.wait(lock, [&] { return letters.posted > letters.taken; });
      const auto &letter =
          letters.ring[letters.taken % LocalGroup::Letters::capacity];
      const int64_t bytes = call.count * elementBytes(call.type);
      if (letter.bytes != bytes)
        fail(exitInternal, "a message has another size than its receiver asks");
      std::memcpy(call.out, letter.data, static_cast<size_t>(bytes));
      ++letters.taken;
      group.changed.notify_all();
    }
    for (int i = 0; i < count; ++i) {
      const Call &call = calls[i];
      if (call.kind != CallKind::Send)
        continue;
      auto &letters = group.letters[rank() * size() + call.root];
      group.changed.wait(lock, [&] { return letters.taken == letters.posted; });
    }
  }

  void collective(LocalGroup &group, const Call &call) {
    const int64_t width = elementBytes(call.type);
    const int64_t bytes = call.count * width;
    const int ranks = size(), mine = rank();
    group.in[mine] = call.in;
    group.out[mine] = call.out;
    group.meeting.await();
    switch (call.kind) {
    case CallKind::AllReduce: {
      // Each member combines its share and hands it to all: nobody else
      // touches that share, so operands may be replaced in place.
      const int64_t begin = call.count * mine / ranks;
      const int64_t end = call.count * (mine + 1) / ranks;
      combineAll(call.type, call.reduction, group.in, call.out, begin, end,
                 begin);
      const auto *share = static_cast<const char *>(call.out) + begin * width;
      for (int member = 0; member < ranks; ++member)
        if (member != mine)
          std::memcpy(static_cast<char *>(group.out[member]) + begin * width,
                      share, static_cast<size_t>((end - begin) * width));
      break;
    }
    case CallKind::ReduceScatter: {
      // Out of place nobody reads where a member writes. In place it combines
      // in its own share of the input, and all meet before results move.
      auto *in = const_cast<char *>(static_cast<const char *>(call.in));
      auto *out = static_cast<char *>(call.out);
      const bool inPlace = out >= in && out < in + ranks * bytes;
      char *target = inPlace ? in + mine * bytes : out;
      combineAll(call.type, call.reduction, group.in, target, mine * call.count,
                 (mine + 1) * call.count, 0);
      group.meeting.await();
      if (target != out)
        std::memmove(out, target, static_cast<size_t>(bytes));
      break;
    }
    case CallKind::AllGather:
      for (int member = 0; member < ranks; ++member) {
        char *target = static_cast<char *>(call.out) + member * bytes;
        if (target != group.in[member])
          std::memcpy(target, group.in[member], static_cast<size_t>(bytes));
      }
      break;
    case CallKind::AllToAll:
      if (call.in == call.out && ranks > 1)
        fail(exitInternal, "all-to-all in place is not supported");
      for (int member = 0; member < ranks; ++member)
        std::memcpy(static_cast<char *>(call.out) + member * bytes,
                    static_cast<const char *>(group.in[member]) + mine * bytes,
                    static_cast<size_t>(bytes));
      break;
    case CallKind::Broadcast:
      if (call.out != group.in[call.root])
        std::memcpy(call.out, group.in[call.root], static_cast<size_t>(bytes));
      break;
    case CallKind::Reduce:
      if (mine == call.root)
        combineAll(call.type, call.reduction, group.in, call.out, 0, call.count,
                   0);
      break;
    case CallKind::Send:
    case CallKind::Receive:
      break;
    }
    group.meeting.await();
  }

  // By stream.
  std::vector<LocalGroup *> groups;
  std::vector<Pending> pending;
};

} // namespace

std::unique_ptr<Communicator>
createLocalCommunicator(const Program &program, const CommunicatorEntry &entry,
                        ThreadWorld &world) {
  const std::vector<int> members = groupMembers(program, entry, world.rank());
  if (members.empty())
    return nullptr;
  int position = 0;
  while (members[position] != world.rank())
    ++position;
  return std::unique_ptr<Communicator>(new LocalCommunicator(
      entry.name, position, members, world, streamsOf(program, entry)));
}

std::unique_ptr<Communicator>
createHostCommunicator(const Program &program, const CommunicatorEntry &entry,
                       World &world) {
  if (auto *threads = dynamic_cast<ThreadWorld *>(&world))
    return createLocalCommunicator(program, entry, *threads);
  return createMpiCommunicator(program, entry, world);
}

} // namespace runtime
} // namespace parplan
