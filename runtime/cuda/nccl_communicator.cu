//===- nccl_communicator.cu - One GPU per rank, connected by NCCL ---------===//

#include "cuda_rank.h"
#include "failure.h"

#include <algorithm>
#include <nccl.h>

namespace parplan {
namespace runtime {

namespace {

void check(ncclResult_t status, const char *what) {
  if (status != ncclSuccess && status != ncclInProgress)
    fail(status == ncclRemoteError ? exitPeerLost : exitDevice,
         std::string(what) + ": " + ncclGetErrorString(status));
}

ncclDataType_t typeOf(ElementType type) {
  switch (type) {
  case ElementType::Float64:
    return ncclFloat64;
  case ElementType::Float32:
    return ncclFloat32;
  case ElementType::BFloat16:
    return ncclBfloat16;
  case ElementType::Int64:
    return ncclInt64;
  case ElementType::Int32:
    return ncclInt32;
  case ElementType::UInt64:
    return ncclUint64;
  case ElementType::UInt32:
    return ncclUint32;
  case ElementType::Int16:
  case ElementType::UInt16: // NCCL only moves these two.
  case ElementType::Float16:
    return ncclFloat16;
  case ElementType::Int8:
    return ncclInt8;
  case ElementType::UInt8:
  case ElementType::Bool:
    return ncclUint8;
  }
  return ncclUint8;
}

ncclRedOp_t operationOf(Reduction kind, ElementType type) {
  if (type == ElementType::Int16 || type == ElementType::UInt16)
    fail(exitInternal, "NCCL has no arithmetic of 16-bit integers");
  switch (kind) {
  case Reduction::Sum:
    return ncclSum;
  case Reduction::Max:
    return ncclMax;
  case Reduction::Min:
    return ncclMin;
  case Reduction::Product:
    return ncclProd;
  }
  return ncclSum;
}

class NcclCommunicator : public Communicator {
public:
  NcclCommunicator(const char *name, int rank, int size,
                   std::vector<ncclComm_t> handles)
      : Communicator(name, rank, size), handles(std::move(handles)) {}
  ~NcclCommunicator() override {
    for (ncclComm_t handle : handles)
      if (handle)
        ncclCommDestroy(handle);
  }

  /// A byte from each member to each, so that nothing is left to connect:
  /// pairs that connect in the middle of a step are known to hang.
  void connect(int32_t index, cudaStream_t stream) {
    void *bytes = nullptr;
    checkCuda(cudaMalloc(&bytes, 2), "connecting");
    auto *sent = static_cast<char *>(bytes), *received = sent + 1;
    const ncclComm_t handle = handles[index];
    for (int distance = 1; distance < size(); ++distance) {
      check(ncclGroupStart(), "connecting");
      check(ncclSend(sent, 1, ncclUint8, (rank() + distance) % size(), handle,
                     stream),
            "connecting");
      check(ncclRecv(received, 1, ncclUint8,
                     (rank() + size() - distance) % size(), handle, stream),
            "connecting");
      check(ncclGroupEnd(), "connecting");
    }
    checkCuda(cudaStreamSynchronize(stream), "connecting");
    checkCuda(cudaFree(bytes), "connecting");
  }

  void checkPeers() {
    for (ncclComm_t handle : handles) {
      if (!handle)
        continue;
      ncclResult_t status = ncclSuccess;
      ncclCommGetAsyncError(handle, &status);
      check(status, name());
    }
  }

private:
  void issue(Stream &stream, const Call &call) override {
    if (call.group == Call::Group::Begin)
      return check(ncclGroupStart(), "group");
    if (call.group == Call::Group::End)
      return check(ncclGroupEnd(), "group");
    const ncclComm_t handle = handles[stream.index()];
    const cudaStream_t cuda = streamOf(stream);
    const ncclDataType_t type = typeOf(call.type);
    const auto count = static_cast<size_t>(call.count);
    const int64_t bytes = call.count * elementBytes(call.type);
    switch (call.kind) {
    case CallKind::AllReduce:
      return check(ncclAllReduce(call.in, call.out, count, type,
                                 operationOf(call.reduction, call.type), handle,
                                 cuda),
                   "all_reduce");
    case CallKind::AllGather:
      return check(ncclAllGather(call.in, call.out, count, type, handle, cuda),
                   "all_gather");
    case CallKind::ReduceScatter:
      return check(ncclReduceScatter(call.in, call.out, count, type,
                                     operationOf(call.reduction, call.type),
                                     handle, cuda),
                   "reduce_scatter");
    case CallKind::AllToAll:
      check(ncclGroupStart(), "all_to_all");
      for (int peer = 0; peer < size(); ++peer) {
        check(ncclSend(static_cast<const char *>(call.in) + peer * bytes, count,
                       type, peer, handle, cuda),
              "all_to_all");
        check(ncclRecv(static_cast<char *>(call.out) + peer * bytes, count,
                       type, peer, handle, cuda),
              "all_to_all");
      }
      return check(ncclGroupEnd(), "all_to_all");
    case CallKind::Broadcast:
      return check(ncclBroadcast(call.in, call.out, count, type, call.root,
                                 handle, cuda),
                   "broadcast");
    case CallKind::Reduce:
      return check(ncclReduce(call.in, call.out, count, type,
                              operationOf(call.reduction, call.type), call.root,
                              handle, cuda),
                   "reduce");
    case CallKind::Send:
      return check(ncclSend(call.in, count, type, call.root, handle, cuda),
                   "send");
    case CallKind::Receive:
      return check(ncclRecv(call.out, count, type, call.root, handle, cuda),
                   "recv");
    }
  }

  // By stream.
  std::vector<ncclComm_t> handles;
};

} // namespace

void checkNccl(Communicator &communicator) {
  if (auto *nccl = dynamic_cast<NcclCommunicator *>(&communicator))
    nccl->checkPeers();
}

std::unique_ptr<Communicator>
createNcclCommunicator(const Program &program, const CommunicatorEntry &entry,
                       CudaRank &rank, World &world) {
  const std::vector<int> members = groupMembers(program, entry, world.rank());
  const auto own = std::find(members.begin(), members.end(), world.rank());
  const int position = static_cast<int>(own - members.begin());
  WaitScope scope(rank.waiting, "start of", entry.name);
  const std::vector<int32_t> users = streamsOf(program, entry);
  std::vector<ncclComm_t> handles(
      users.empty() ? 0 : static_cast<size_t>(users.back()) + 1);
  // Rank 0 makes an id for each group, named by the group's first member.
  for (int32_t stream : users) {
    ncclUniqueId id;
    std::vector<ncclUniqueId> ids(world.size());
    if (world.rank() == 0)
      for (ncclUniqueId &each : ids)
        check(ncclGetUniqueId(&each), "NCCL's rendezvous");
    world.broadcastFromRoot(ids.data(),
                            static_cast<int64_t>(ids.size() * sizeof(id)));
    if (members.empty())
      continue;
    id = ids[members[0]];
    check(ncclCommInitRank(&handles[stream], static_cast<int>(members.size()),
                           id, position),
          "starting NCCL");
  }
  if (members.empty())
    return nullptr;
  std::unique_ptr<NcclCommunicator> communicator(new NcclCommunicator(
      entry.name, position, static_cast<int>(members.size()),
      std::move(handles)));
  if (entry.stream == streams::pointToPoint)
    communicator->connect(entry.stream, streamOf(rank.stream(0)));
  return communicator;
}

} // namespace runtime
} // namespace parplan
