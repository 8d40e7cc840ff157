//===- mpi_communicator.cpp - Host ranks that are MPI processes -----------===//
//
// Every stream calls MPI from its own thread on its own duplicate of the
// communicator, so streams never wait for each other inside MPI.
//
//===----------------------------------------------------------------------===//

#include "combine.h"
#include "failure.h"
#include "host_communicator.h"
#include "host_stream.h"
#include "mpi_wait.h"
#include "mpi_world.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <mpi.h>

namespace parplan {
namespace runtime {

namespace {

MPI_Datatype typeOf(ElementType type) {
  switch (type) {
  case ElementType::Float64:
    return MPI_DOUBLE;
  case ElementType::Float32:
    return MPI_FLOAT;
  case ElementType::Int64:
    return MPI_INT64_T;
  case ElementType::Int32:
    return MPI_INT32_T;
  case ElementType::Int16:
    return MPI_INT16_T;
  case ElementType::Int8:
    return MPI_INT8_T;
  case ElementType::UInt64:
    return MPI_UINT64_T;
  case ElementType::UInt32:
    return MPI_UINT32_T;
  case ElementType::UInt8:
  case ElementType::Bool:
    return MPI_UINT8_T;
  case ElementType::UInt16:
  case ElementType::Float16: // MPI only moves these two.
  case ElementType::BFloat16:
    return MPI_UINT16_T;
  }
  return MPI_BYTE;
}

template <typename Element, Reduction kind>
void combineArrays(void *in, void *inOut, int *count, MPI_Datatype *) {
  const auto *left = static_cast<const Element *>(in);
  auto *right = static_cast<Element *>(inOut);
  for (int i = 0; i < *count; ++i)
    right[i] = Element(combine<float>(kind, left[i], right[i]));
}

/// MPI knows no 16-bit floats. Operations live as long as MPI does.
template <typename Element, Reduction kind> MPI_Op narrowOperation() {
  static const MPI_Op operation = [] {
    MPI_Op made;
    checkMpi(MPI_Op_create(combineArrays<Element, kind>, /*commute=*/1, &made),
             "making a reduction");
    return made;
  }();
  return operation;
}

template <typename Element> MPI_Op narrowOperation(Reduction kind) {
  switch (kind) {
  case Reduction::Sum:
    return narrowOperation<Element, Reduction::Sum>();
  case Reduction::Max:
    return narrowOperation<Element, Reduction::Max>();
  case Reduction::Min:
    return narrowOperation<Element, Reduction::Min>();
  case Reduction::Product:
    return narrowOperation<Element, Reduction::Product>();
  }
  return MPI_OP_NULL;
}

MPI_Op operationOf(Reduction kind, ElementType type) {
  if (type == ElementType::Float16)
    return narrowOperation<Float16>(kind);
  if (type == ElementType::BFloat16)
    return narrowOperation<BFloat16>(kind);
  switch (kind) {
  case Reduction::Sum:
    return MPI_SUM;
  case Reduction::Max:
    return MPI_MAX;
  case Reduction::Min:
    return MPI_MIN;
  case Reduction::Product:
    return MPI_PROD;
  }
  return MPI_SUM;
}

/// MPI reduces through memory of its own, as large as what it reduces: this
/// many bytes at a time.
constexpr int64_t reducedAtOnce = int64_t(2) << 20;

int checkedCount(int64_t count) {
  if (count > INT_MAX)
    fail(exitInternal, "a message of " + std::to_string(count) +
                           " elements exceeds what MPI can count");
  return static_cast<int>(count);
}

class MpiCommunicator : public Communicator {
public:
  MpiCommunicator(const char *name, int rank, int size,
                  std::vector<MPI_Comm> handles)
      : Communicator(name, rank, size), handles(std::move(handles)),
        pending(this->handles.size()) {}
  ~MpiCommunicator() override {
    for (MPI_Comm &handle : handles)
      if (handle != MPI_COMM_NULL)
        MPI_Comm_free(&handle);
  }

  /// A byte from each member to each, so that nothing is left to connect.
  void connect(int32_t stream) {
    for (int distance = 1; distance < size(); ++distance) {
      char sent = 0, received = 0;
      checkMpi(MPI_Sendrecv(&sent, 1, MPI_BYTE, (rank() + distance) % size(), 0,
                            &received, 1, MPI_BYTE,
                            (rank() + size() - distance) % size(), 0,
                            handles[stream], MPI_STATUS_IGNORE),
               "connecting");
    }
  }

private:
  struct Pending {
    bool open = false;
    int count = 0;
    static constexpr int limit = 64;
    MPI_Request requests[limit];
  };

  void issue(Stream &stream, const Call &call) override {
    auto *queue = static_cast<HostStream *>(&stream);
    queue->enqueue([this, queue, call] { perform(*queue, call); });
  }

  void perform(HostStream &stream, const Call &call) {
    const MPI_Comm handle = handles[stream.index()];
    Pending &list = pending[stream.index()];
    if (call.group == Call::Group::Begin) {
      list.open = true;
      list.count = 0;
      return;
    }
    WaitScope scope(stream.wait, callName(call.kind), name());
    if (call.group == Call::Group::End) {
      list.open = false;
      awaitMpi(list.requests, list.count, "group of messages");
      return;
    }
    if (call.kind != CallKind::Send && call.kind != CallKind::Receive)
      meetBeforeMpi(handle, callName(call.kind));
    // An arena is one allocation: equal addresses are the same buffer.
    const MPI_Datatype type = typeOf(call.type);
    const void *in = call.in == call.out ? MPI_IN_PLACE : call.in;
    const int count = checkedCount(call.count);
    const int64_t bytes = call.count * elementBytes(call.type);
    switch (call.kind) {
    case CallKind::AllReduce:
      return allReduce(call, handle);
    case CallKind::AllGather:
      if (call.in == static_cast<char *>(call.out) + rank() * bytes)
        in = MPI_IN_PLACE;
      else
        in = call.in;
      return checkMpi(
          MPI_Allgather(in, count, type, call.out, count, type, handle),
          "all_gather");
    case CallKind::ReduceScatter:
      if (size() * bytes > reducedAtOnce)
        return reduceScatter(call, handle);
      return checkMpi(MPI_Reduce_scatter_block(
                          in, call.out, count, type,
                          operationOf(call.reduction, call.type), handle),
                      "reduce_scatter");
    case CallKind::AllToAll:
      return checkMpi(
          MPI_Alltoall(in, count, type, call.out, count, type, handle),
          "all_to_all");
    case CallKind::Broadcast:
      if (rank() == call.root) {
        if (call.in != call.out)
          std::memcpy(call.out, call.in, static_cast<size_t>(bytes));
      }
      return checkMpi(MPI_Bcast(call.out, count, type, call.root, handle),
                      "broadcast");
    case CallKind::Reduce:
      return reduce(call, call.in, call.root, handle);
    case CallKind::Send:
    case CallKind::Receive: {
      MPI_Request own, *request = list.open ? next(list) : &own;
      checkMpi(
          call.kind == CallKind::Send
              ? MPI_Isend(call.in, count, type, call.root, 0, handle, request)
              : MPI_Irecv(call.out, count, type, call.root, 0, handle, request),
          callName(call.kind));
      if (!list.open)
        awaitMpi(request, 1, callName(call.kind));
      return;
    }
    }
  }

  /// Calls `part` with the first byte and the elements of each part.
  template <typename Part>
  static void inParts(const Call &call, const Part &part) {
    const int64_t width = elementBytes(call.type);
    const int64_t most = reducedAtOnce / width;
    for (int64_t first = 0; first < call.count; first += most)
      part(first * width, static_cast<int>(std::min(most, call.count - first)));
  }

  static void allReduce(const Call &call, MPI_Comm handle) {
    inParts(call, [&](int64_t offset, int count) {
      const void *in = call.in == call.out
                           ? MPI_IN_PLACE
                           : static_cast<const char *>(call.in) + offset;
      checkMpi(MPI_Allreduce(in, static_cast<char *>(call.out) + offset, count,
                             typeOf(call.type),
                             operationOf(call.reduction, call.type), handle),
               "all_reduce");
    });
  }

  /// Reduces the members' arrays at `from` to the output of `root`.
  void reduce(const Call &call, const void *from, int root,
              MPI_Comm handle) const {
    inParts(call, [&](int64_t offset, int count) {
      const void *in = rank() == root && from == call.out
                           ? MPI_IN_PLACE
                           : static_cast<const char *>(from) + offset;
      checkMpi(MPI_Reduce(in, static_cast<char *>(call.out) + offset, count,
                          typeOf(call.type),
                          operationOf(call.reduction, call.type), root, handle),
               callName(call.kind));
    });
  }

  /// A result in place lies in a share of the input that is reduced by then,
  /// or in the member's own.
  void reduceScatter(const Call &call, MPI_Comm handle) const {
    const int64_t bytes = call.count * elementBytes(call.type);
    for (int member = 0; member < size(); ++member)
      reduce(call, static_cast<const char *>(call.in) + member * bytes, member,
             handle);
  }

  static MPI_Request *next(Pending &list) {
    if (list.count == Pending::limit)
      fail(exitInternal, "a group has more than 64 messages");
    return &list.requests[list.count++];
  }

  // By stream.
  std::vector<MPI_Comm> handles;
  std::vector<Pending> pending;
};

} // namespace

std::unique_ptr<Communicator>
createMpiCommunicator(const Program &program, const CommunicatorEntry &entry,
                      World &world) {
  const std::vector<int> members = groupMembers(program, entry, world.rank());
  const auto own = std::find(members.begin(), members.end(), world.rank());
  const int position = static_cast<int>(own - members.begin());
  // The group's smallest rank names it; the key orders it.
  const int color = members.empty()
                        ? MPI_UNDEFINED
                        : *std::min_element(members.begin(), members.end());
  const std::vector<int32_t> users = streamsOf(program, entry);
  std::vector<MPI_Comm> handles(
      users.empty() ? 0 : static_cast<size_t>(users.back()) + 1, MPI_COMM_NULL);
  for (int32_t stream : users) {
    checkMpi(MPI_Comm_split(MPI_COMM_WORLD, color, position, &handles[stream]),
             "splitting the world");
    if (!members.empty())
      MPI_Comm_set_errhandler(handles[stream], MPI_ERRORS_RETURN);
  }
  if (members.empty())
    return nullptr;
  std::unique_ptr<MpiCommunicator> communicator(new MpiCommunicator(
      entry.name, position, static_cast<int>(members.size()),
      std::move(handles)));
  if (entry.stream == streams::pointToPoint)
    communicator->connect(entry.stream);
  return communicator;
}

} // namespace runtime
} // namespace parplan
