//===- cuda_local_communicator.cu - Ranks that are threads sharing GPUs ---===//
//
// The host threads meet and exchange addresses and events; the work itself is
// enqueued on each rank's own stream. No kernel ever waits for another, so
// ranks cannot deadlock for lack of processors. All ranks enqueue their calls
// in the plan's one order, so the host threads cannot either.
//
//===----------------------------------------------------------------------===//

#include "cuda_rank.h"
#include "failure.h"
#include "parplan_runtime/map.h"
#include "parplan_runtime/narrow_floats.h"
#include "thread_world.h"

namespace parplan {
namespace runtime {

namespace {

constexpr int memberLimit = 64;

struct Addresses {
  const void *in[memberLimit];
  void *out[memberLimit];
  int members;
};

template <typename Element>
PARPLAN_DEVICE Element combine(Reduction kind, Element a, Element b) {
  switch (kind) {
  case Reduction::Sum:
    return a + b;
  case Reduction::Max:
    return a < b || b != b ? b : a;
  case Reduction::Min:
    return b < a || b != b ? b : a;
  case Reduction::Product:
    return a * b;
  }
  return a;
}

/// Element begin + i of all inputs combined, in the order of the members, into
/// element outBegin + i of one output, or begin + i of all. 16-bit floats are
/// added up as float and rounded once.
template <typename Element> struct CombineKernel {
  Addresses addresses;
  Reduction kind;
  int64_t begin;
  void *single;
  PARPLAN_DEVICE void operator()(int64_t i) const {
    using Value = Arithmetic<Element>;
    Value value = static_cast<const Element *>(addresses.in[0])[begin + i];
    for (int member = 1; member < addresses.members; ++member)
      value = combine<Value>(
          kind, value,
          static_cast<const Element *>(addresses.in[member])[begin + i]);
    if (single) {
      static_cast<Element *>(single)[i] = Element(value);
      return;
    }
    for (int member = 0; member < addresses.members; ++member)
      static_cast<Element *>(addresses.out[member])[begin + i] = Element(value);
  }
};

template <typename Element>
void combineAll(Stream &stream, const Addresses &addresses, Reduction kind,
                int64_t begin, int64_t count, void *single) {
  map<1>(stream, {}, {count},
         CombineKernel<Element>{addresses, kind, begin, single});
}

void combineAll(Stream &stream, ElementType type, const Addresses &addresses,
                Reduction kind, int64_t begin, int64_t count, void *single) {
  switch (type) {
  case ElementType::Float32:
    return combineAll<float>(stream, addresses, kind, begin, count, single);
  case ElementType::Float64:
    return combineAll<double>(stream, addresses, kind, begin, count, single);
  case ElementType::Int64:
    return combineAll<int64_t>(stream, addresses, kind, begin, count, single);
  case ElementType::Int32:
    return combineAll<int32_t>(stream, addresses, kind, begin, count, single);
  case ElementType::Int16:
    return combineAll<int16_t>(stream, addresses, kind, begin, count, single);
  case ElementType::Int8:
    return combineAll<int8_t>(stream, addresses, kind, begin, count, single);
  case ElementType::UInt64:
    return combineAll<uint64_t>(stream, addresses, kind, begin, count, single);
  case ElementType::UInt32:
    return combineAll<uint32_t>(stream, addresses, kind, begin, count, single);
  case ElementType::UInt16:
    return combineAll<uint16_t>(stream, addresses, kind, begin, count, single);
  case ElementType::UInt8:
  case ElementType::Bool:
    return combineAll<uint8_t>(stream, addresses, kind, begin, count, single);
  case ElementType::Float16:
    return combineAll<Float16>(stream, addresses, kind, begin, count, single);
  case ElementType::BFloat16:
    return combineAll<BFloat16>(stream, addresses, kind, begin, count, single);
  }
  fail(exitInternal, "an unknown element type");
}

class CudaLocalCommunicator : public Communicator {
public:
  CudaLocalCommunicator(const char *name, int rank,
                        const std::vector<int> &members, CudaRank &owner,
                        ThreadWorld &world, const std::vector<int32_t> &streams)
      : Communicator(name, rank, static_cast<int>(members.size())),
        owner(owner),
        lanes(streams.empty() ? 0 : static_cast<size_t>(streams.back()) + 1) {
    if (size() > memberLimit)
      fail(exitDisagreement, "local groups have at most 64 ranks");
    for (int32_t stream : streams) {
      Lane &lane = lanes[stream];
      lane.group = &world.hub.group(name, members, stream);
      lane.ready = makeEvent();
      lane.done = makeEvent();
      for (cudaEvent_t &event : lane.messages)
        event = makeEvent();
      lane.group->ready[rank] = lane.ready;
      lane.group->done[rank] = lane.done;
    }
  }
  ~CudaLocalCommunicator() override {
    for (Lane &lane : lanes) {
      if (!lane.group)
        continue;
      cudaEventDestroy(lane.ready);
      cudaEventDestroy(lane.done);
      for (cudaEvent_t event : lane.messages)
        cudaEventDestroy(event);
    }
  }

private:
  static constexpr int groupLimit = 64;
  static constexpr int eventLimit = 256;
  /// What one stream needs.
  struct Lane {
    LocalGroup *group = nullptr;
    cudaEvent_t ready = nullptr, done = nullptr;
    // Events of messages, used in turn: an event is waited for long before
    // its turn comes again.
    cudaEvent_t messages[eventLimit] = {};
    int nextEvent = 0;
    bool open = false;
    int count = 0;
    Call calls[groupLimit];
  };

  static cudaEvent_t makeEvent() {
    cudaEvent_t event = nullptr;
    checkCuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
              "making an event");
    return event;
  }

  void issue(Stream &stream, const Call &call) override {
    Lane &lane = lanes[stream.index()];
    if (call.group == Call::Group::Begin) {
      lane.open = true;
      lane.count = 0;
      return;
    }
    WaitScope scope(owner.waiting, callName(call.kind), name());
    if (call.group == Call::Group::End) {
      lane.open = false;
      exchange(stream, lane, lane.calls, lane.count);
    } else if (call.kind == CallKind::Send || call.kind == CallKind::Receive) {
      if (!lane.open)
        return exchange(stream, lane, &call, 1);
      if (lane.count == groupLimit)
        fail(exitInternal, "a group has more than 64 messages");
      lane.calls[lane.count++] = call;
    } else {
      collective(stream, lane, call);
    }
  }

  void collective(Stream &stream, Lane &lane, const Call &call) {
    const cudaStream_t cuda = streamOf(stream);
    LocalGroup &group = *lane.group;
    group.in[rank()] = call.in;
    group.out[rank()] = call.out;
    checkCuda(cudaEventRecord(lane.ready, cuda), "event record");
    group.meeting.await();
    Addresses addresses;
    addresses.members = size();
    for (int member = 0; member < size(); ++member) {
      addresses.in[member] = group.in[member];
      addresses.out[member] = group.out[member];
      if (member != rank())
        checkCuda(cudaStreamWaitEvent(
                      cuda, static_cast<cudaEvent_t>(group.ready[member]), 0),
                  "event wait");
    }
    work(stream, cuda, addresses, call);
    checkCuda(cudaEventRecord(lane.done, cuda), "event record");
    group.meeting.await();
    // Nobody goes on to change what others still read.
    for (int member = 0; member < size(); ++member)
      if (member != rank())
        checkCuda(cudaStreamWaitEvent(
                      cuda, static_cast<cudaEvent_t>(group.done[member]), 0),
                  "event wait");
  }

  void work(Stream &stream, cudaStream_t cuda, const Addresses &addresses,
            const Call &call) {
    const int64_t bytes = call.count * elementBytes(call.type);
    auto *out = static_cast<char *>(call.out);
    switch (call.kind) {
    case CallKind::AllReduce: {
      // Each member combines its share for all: nobody else touches it.
      const int64_t begin = call.count * rank() / size();
      const int64_t end = call.count * (rank() + 1) / size();
      return combineAll(stream, call.type, addresses, call.reduction, begin,
                        end - begin, nullptr);
    }
    case CallKind::ReduceScatter: {
      const auto *in = static_cast<const char *>(call.in);
      if (out >= in && out < in + size() * bytes && out != in + rank() * bytes)
        fail(exitInternal, "reduce-scatter overlaps its input");
      return combineAll(stream, call.type, addresses, call.reduction,
                        rank() * call.count, call.count, call.out);
    }
    case CallKind::AllGather:
      for (int member = 0; member < size(); ++member)
        copy(cuda, out + member * bytes, addresses.in[member], bytes);
      return;
    case CallKind::AllToAll:
      if (call.in == call.out && size() > 1)
        fail(exitInternal, "all-to-all in place is not supported");
      for (int member = 0; member < size(); ++member)
        copy(cuda, out + member * bytes,
             static_cast<const char *>(addresses.in[member]) + rank() * bytes,
             bytes);
      return;
    case CallKind::Broadcast:
      return copy(cuda, out, addresses.in[call.root], bytes);
    case CallKind::Reduce:
      if (rank() == call.root)
        combineAll(stream, call.type, addresses, call.reduction, 0, call.count,
                   call.out);
      return;
    case CallKind::Send:
    case CallKind::Receive:
      return;
    }
  }

  static void copy(cudaStream_t cuda, void *to, const void *from,
                   int64_t bytes) {
    if (to != from && bytes > 0)
      checkCuda(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes),
                                cudaMemcpyDefault, cuda),
                "copy between ranks");
  }

  void exchange(Stream &stream, Lane &lane, const Call *calls, int count) {
    const cudaStream_t cuda = streamOf(stream);
    LocalGroup &group = *lane.group;
    const auto next = [&] {
      const cudaEvent_t event = lane.messages[lane.nextEvent++ % eventLimit];
      checkCuda(cudaEventRecord(event, cuda), "event record");
      return event;
    };
    const cudaEvent_t ready = next();
    uint64_t numbers[groupLimit];
    std::unique_lock<std::mutex> lock(group.mutex);
    for (int i = 0; i < count; ++i) {
      const Call &call = calls[i];
      if (call.kind != CallKind::Send)
        continue;
      auto &letters = group.letters[rank() * size() + call.root];
      group.changed.wait(lock, [&] {
        return letters.posted - letters.taken < LocalGroup::Letters::capacity;
      });
      numbers[i] = letters.posted++;
      letters.ring[numbers[i] % LocalGroup::Letters::capacity] = {
          call.in, call.count * elementBytes(call.type), ready, nullptr};
    }
    group.changed.notify_all();
    for (int i = 0; i < count; ++i) {
      const Call &call = calls[i];
      if (call.kind != CallKind::Receive)
        continue;
      auto &letters = group.letters[call.root * size() + rank()];
      group.changed.wait(lock, [&] { return letters.posted > letters.taken; });
      auto &letter =
          letters.ring[letters.taken % LocalGroup::Letters::capacity];
      const int64_t bytes = call.count * elementBytes(call.type);
      if (letter.bytes != bytes)
        fail(exitInternal, "a message has another size than its receiver asks");
      checkCuda(
          cudaStreamWaitEvent(cuda, static_cast<cudaEvent_t>(letter.ready), 0),
          "event wait");
      copy(cuda, call.out, letter.data, bytes);
      letter.done = next();
      ++letters.taken;
      group.changed.notify_all();
    }
    for (int i = 0; i < count; ++i) {
      const Call &call = calls[i];
      if (call.kind != CallKind::Send)
        continue;
      auto &letters = group.letters[rank() * size() + call.root];
      group.changed.wait(lock, [&] { return letters.taken > numbers[i]; });
      const auto &letter =
          letters.ring[numbers[i] % LocalGroup::Letters::capacity];
      checkCuda(
          cudaStreamWaitEvent(cuda, static_cast<cudaEvent_t>(letter.done), 0),
          "event wait");
    }
  }

  CudaRank &owner;
  // By stream.
  std::vector<Lane> lanes;
};

} // namespace

std::unique_ptr<Communicator>
createCudaLocalCommunicator(const Program &program,
                            const CommunicatorEntry &entry, CudaRank &rank,
                            World &world) {
  auto *threads = dynamic_cast<ThreadWorld *>(&world);
  if (!threads)
    fail(exitDisagreement, "local ranks are threads of one process");
  const std::vector<int> members = groupMembers(program, entry, world.rank());
  if (members.empty())
    return nullptr;
  int position = 0;
  while (members[position] != world.rank())
    ++position;
  return std::unique_ptr<Communicator>(
      new CudaLocalCommunicator(entry.name, position, members, rank, *threads,
                                streamsOf(program, entry)));
}

} // namespace runtime
} // namespace parplan
