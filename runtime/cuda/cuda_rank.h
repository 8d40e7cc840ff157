//===- cuda_rank.h - A rank on a GPU --------------------------------------===//

#ifndef PARPLAN_RUNTIME_CUDA_CUDA_RANK_H
#define PARPLAN_RUNTIME_CUDA_CUDA_RANK_H

#include "engine.h"

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>
#include <map>

namespace parplan {
namespace runtime {

/// Fails with 192 when a call of the CUDA runtime did.
void checkCuda(cudaError_t status, const char *what);

class CudaStream : public Stream {
public:
  CudaStream(Rank &rank, int index);
  ~CudaStream();
  cudaStream_t cuda() const { return static_cast<cudaStream_t>(native); }
  /// Memory of the stream's own for sums in two steps: kernels of one stream
  /// never run at the same time.
  static constexpr int64_t scratchBytes = int64_t(1) << 20;
  void *scratch() const { return memory; }

private:
  void *memory = nullptr;
};

inline cudaStream_t streamOf(Stream &stream) {
  return static_cast<CudaStream &>(stream).cuda();
}

/// A prepared matrix product: descriptors and the algorithm chosen.
struct ProductPlan {
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t first, second, result;
  cublasLtMatmulAlgo_t algorithm;
};

struct ConvolutionPlan;

class CudaRank : public EngineRank {
public:
  CudaRank(const Program &program, World &world, const RankOptions &options);
  ~CudaRank() override;

  Stream &stream(int32_t index) override { return *streams[index]; }
  Communicator &communicator(int32_t index) override {
    return *communicators[index];
  }
  void record(int32_t event, Stream &stream) override;
  void wait(int32_t event, Stream &stream) override;
  char *mapped(MemoryTier tier) override {
    return tier == MemoryTier::Host ? hostArena : nullptr;
  }
  void synchronize() override;
  /// Waits for all that `stream` was given; `what` is named if it takes long.
  void waitFor(Stream &stream, const char *what);

  /// Library handles, made when first used.
  cublasLtHandle_t blas();
  cudnnHandle_t dnn();
  /// Products prepared so far, by everything that they depend on.
  std::map<std::vector<int64_t>, ProductPlan> products;
  std::map<std::vector<int64_t>, std::unique_ptr<ConvolutionPlan>> convolutions;
  /// Waits of this rank's main thread.
  WaitRecord waiting;

protected:
  void enqueueCall(Stream &stream, void (*call)(void *),
                   void *context) override {
    checkCuda(cudaLaunchHostFunc(streamOf(stream), call, context),
              "work of the processor");
  }
  void uploadToDevice(int64_t offset, const void *from, int64_t bytes) override;
  void downloadFromDevice(int64_t offset, void *to, int64_t bytes) override;

private:
  std::vector<std::unique_ptr<CudaStream>> streams;
  std::vector<cudaEvent_t> events;
  std::vector<std::unique_ptr<Communicator>> communicators;
  cublasLtHandle_t blasHandle = nullptr;
  cudnnHandle_t dnnHandle = nullptr;
};

/// Between threads that share GPUs: copies and own kernels.
std::unique_ptr<Communicator>
createCudaLocalCommunicator(const Program &program,
                            const CommunicatorEntry &entry, CudaRank &rank,
                            World &world);
/// NCCL, one communicator per stream. Collective over the world.
std::unique_ptr<Communicator>
createNcclCommunicator(const Program &program, const CommunicatorEntry &entry,
                       CudaRank &rank, World &world);
/// Fails with 190 when NCCL has lost a peer of one of this rank's groups.
void checkNccl(Communicator &communicator);

/// Whether ranks use NCCL: as many GPUs as ranks. Set by chooseRankForm.
bool usesNccl();
/// The device of a rank.
int deviceOf(const World &world);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_CUDA_CUDA_RANK_H
