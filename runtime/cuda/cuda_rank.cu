//===- cuda_rank.cu - A rank on a GPU -------------------------------------===//

#include "cuda_rank.h"

#include "convolution_descriptors.h"
#include "failure.h"
#include "launch.h"
#include "mpi_world.h"
#include "parplan_runtime/map.h"
#include "parplan_runtime/transfer.h"
#include "platform_device.h"
#include "thread_world.h"

#include <algorithm>
#include <thread>

namespace parplan {
namespace runtime {

void checkCuda(cudaError_t status, const char *what) {
  if (status != cudaSuccess)
    fail(exitDevice, std::string(what) + ": " + cudaGetErrorString(status));
}

// --- launches of emitted kernels
// -----------------------------------------------

namespace detail {
unsigned mapBlocks(int64_t total) {
  // Enough blocks for any GPU; the rest of a long loop is strided.
  return static_cast<unsigned>(
      std::min<int64_t>((total + 255) / 256, int64_t(1) << 16));
}
void checkLaunch(Stream &) { checkCuda(cudaGetLastError(), "kernel launch"); }
} // namespace detail

CudaStream::CudaStream(Rank &rank, int index) : Stream(rank, index) {
  cudaStream_t stream = nullptr;
  checkCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
            "making a stream");
  native = stream;
  checkCuda(cudaMalloc(&memory, scratchBytes), "making a stream");
}

CudaStream::~CudaStream() {
  cudaFree(memory);
  cudaStreamDestroy(cuda());
}

// --- work of the processor
// ------------------------------------------------------

void Stream::launchOnHost(void *task, void (*run)(void *)) {
  checkCuda(cudaLaunchHostFunc(static_cast<cudaStream_t>(native), run, task),
            "work of the processor");
}

void transfer(Stream &stream, Range from, Range to) {
  auto &rank = static_cast<CudaRank &>(stream.rank());
  const auto size = static_cast<size_t>(from.bytes);
  switch (rank.beginTransfer(from, to)) {
  case TransferKind::HostToDevice:
    return checkCuda(cudaMemcpyAsync(rank.at<char>(to.offset),
                                     rank.hostAt<char>(from.offset), size,
                                     cudaMemcpyHostToDevice, streamOf(stream)),
                     "copy to the GPU");
  case TransferKind::DeviceToHost:
    return checkCuda(cudaMemcpyAsync(rank.hostAt<char>(to.offset),
                                     rank.at<char>(from.offset), size,
                                     cudaMemcpyDeviceToHost, streamOf(stream)),
                     "copy from the GPU");
  case TransferKind::NvmeRead:
    return stream.enqueueOnHost(StorageTask{rank.nvme(), from.offset,
                                            rank.hostAt<char>(to.offset),
                                            from.bytes, /*write=*/false});
  case TransferKind::NvmeWrite:
    return stream.enqueueOnHost(StorageTask{rank.nvme(), to.offset,
                                            rank.hostAt<char>(from.offset),
                                            from.bytes, /*write=*/true});
  }
}

// --- devices
// -------------------------------------------------------------------

namespace {
bool ncclChosen = false;

int deviceCount() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    fail(
        exitDisagreement,
        std::string("the program was compiled for GPUs, and none is usable: ") +
            (status == cudaSuccess ? "there is none"
                                   : cudaGetErrorString(status)));
  return count;
}
} // namespace

bool usesNccl() { return ncclChosen; }

RankForm chooseRankForm(const std::string &communicator, int ranks,
                        bool launched) {
  const Launcher launcher = detectLauncher();
  const bool processes =
      launched && ranks > 1 && launcher.kind != Launcher::Kind::Torchrun;
  if (communicator == "mpi")
    fail(exitDisagreement, "mpi connects host ranks; this program is for GPUs "
                           "and takes nccl or local");
  if (communicator == "self" && ranks != 1)
    fail(exitDisagreement,
         "self is for one rank, the plan is for " + std::to_string(ranks));
  const int devices = deviceCount();
  const int needed = processes ? launcher.localSize : ranks;
  if (communicator == "nccl" && devices < needed)
    fail(exitDisagreement,
         "nccl needs a GPU for each of the " + std::to_string(needed) +
             " ranks of this machine, there are " + std::to_string(devices) +
             "; --communicator local shares them");
  if (processes && communicator == "local")
    fail(exitDisagreement, "local ranks are threads of one process; start "
                           "the program without a launcher");
  if (processes && devices < needed)
    fail(exitDisagreement, std::to_string(needed) +
                               " ranks were started on a machine with " +
                               std::to_string(devices) + " GPUs");
  ncclChosen = ranks > 1 && communicator != "local" && devices >= needed;
  return processes ? RankForm::Processes : RankForm::Threads;
}

std::unique_ptr<World> createProcessWorld(int ranks) {
  return createMpiWorld(ranks);
}
void finishProcessWorld() { finishMpi(); }

int deviceOf(const World &world) {
  const bool threads = dynamic_cast<const ThreadWorld *>(&world) != nullptr;
  return (threads ? world.rank() : detectLauncher().localRank) % deviceCount();
}

// --- ranks
// ---------------------------------------------------------------------

CudaRank::CudaRank(const Program &program, World &world,
                   const RankOptions &options)
    : EngineRank(program, world.rank(), world.size(), options) {
  checkCuda(cudaSetDevice(deviceOf(world)), "choosing the GPU");
  registerWait(rank(), waiting);
  const int64_t arenaLimit = limits[static_cast<int>(MemoryTier::Device)];
  void *memory = nullptr;
  const cudaError_t status = cudaMalloc(
      &memory, static_cast<size_t>(std::max<int64_t>(arenaLimit, 1)));
  if (status != cudaSuccess) {
    size_t available = 0, total = 0;
    cudaMemGetInfo(&available, &total);
    fail(exitDevice, "the GPU does not give " + std::to_string(arenaLimit) +
                         " bytes for the arena (" + std::to_string(available) +
                         " of " + std::to_string(total) +
                         " are free): " + cudaGetErrorString(status));
  }
  arena = static_cast<char *>(memory);
  checkCuda(cudaMemset(arena, 0, static_cast<size_t>(arenaLimit)),
            "clearing the arena");
  checkCuda(cudaDeviceSynchronize(), "clearing the arena");
  // Pinned, so that copies run beside everything else.
  if (stage().hostArenaBytes > 0)
    checkCuda(cudaHostRegister(hostArena,
                               static_cast<size_t>(stage().hostArenaBytes),
                               cudaHostRegisterPortable),
              "pinning the host's arena");
  for (int32_t index = 0; index < stage().streamCount; ++index)
    streams.emplace_back(new CudaStream(*this, index));
  events.resize(stage().eventCount);
  for (cudaEvent_t &event : events)
    checkCuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
              "making an event");
  for (const CommunicatorEntry &entry : program.communicators)
    communicators.push_back(
        usesNccl() ? createNcclCommunicator(program, entry, *this, world)
                   : createCudaLocalCommunicator(program, entry, *this, world));
}

CudaRank::~CudaRank() {
  for (auto &entry : products) {
    cublasLtMatmulDescDestroy(entry.second.operation);
    for (cublasLtMatrixLayout_t layout :
         {entry.second.first, entry.second.second, entry.second.result})
      cublasLtMatrixLayoutDestroy(layout);
  }
  convolutions.clear();
  if (dnnHandle)
    cudnnDestroy(dnnHandle);
  if (blasHandle)
    cublasLtDestroy(blasHandle);
  communicators.clear();
  for (cudaEvent_t event : events)
    cudaEventDestroy(event);
  streams.clear();
  if (stage().hostArenaBytes > 0)
    cudaHostUnregister(hostArena);
  cudaFree(arena);
}

void CudaRank::record(int32_t event, Stream &stream) {
  checkCuda(cudaEventRecord(events[event], streamOf(stream)), "event record");
}

void CudaRank::wait(int32_t event, Stream &stream) {
  checkCuda(cudaStreamWaitEvent(streamOf(stream), events[event], 0),
            "event wait");
}

void CudaRank::uploadToDevice(int64_t offset, const void *from, int64_t bytes) {
  checkCuda(cudaMemcpy(arena + offset, from, static_cast<size_t>(bytes),
                       cudaMemcpyHostToDevice),
            "copy to the GPU");
  // Of memory that is not pinned only a copy was made by then, and the streams
  // do not wait for the default one.
  checkCuda(cudaStreamSynchronize(nullptr), "copy to the GPU");
}

void CudaRank::downloadFromDevice(int64_t offset, void *to, int64_t bytes) {
  checkCuda(cudaMemcpy(to, arena + offset, static_cast<size_t>(bytes),
                       cudaMemcpyDeviceToHost),
            "copy from the GPU");
}

void CudaRank::synchronize() {
  for (const auto &stream : streams)
    waitFor(*stream, "step");
}

void CudaRank::waitFor(Stream &stream, const char *what) {
  // Polled, so that a lost peer or a passed deadline is seen; the watchdog
  // ends the process when a stream takes longer than the limit.
  WaitScope scope(waiting, what, "GPU");
  for (int64_t polls = 0;; ++polls) {
    const cudaError_t status = cudaStreamQuery(streamOf(stream));
    if (status == cudaSuccess)
      break;
    if (status != cudaErrorNotReady)
      checkCuda(status, what);
    if (polls % 1024 == 1023)
      for (const auto &communicator : communicators)
        if (communicator)
          checkNccl(*communicator);
    if (polls < 10000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

cublasLtHandle_t CudaRank::blas() {
  if (!blasHandle && cublasLtCreate(&blasHandle) != CUBLAS_STATUS_SUCCESS)
    fail(exitDevice, "cuBLASLt does not start");
  return blasHandle;
}

cudnnHandle_t CudaRank::dnn() {
  if (!dnnHandle && cudnnCreate(&dnnHandle) != CUDNN_STATUS_SUCCESS)
    fail(exitDevice, "cuDNN does not start");
  return dnnHandle;
}

std::unique_ptr<EngineRank> createRank(const Program &program, World &world,
                                       const RankOptions &options) {
  return std::unique_ptr<EngineRank>(new CudaRank(program, world, options));
}

} // namespace runtime
} // namespace parplan
