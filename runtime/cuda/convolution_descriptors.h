//===- convolution_descriptors.h - A convolution as cuDNN sees it ---------===//
//
// Plans (descriptors and algorithms) are made once per shape: to ask cuDNN for
// algorithms takes it milliseconds.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_CUDA_CONVOLUTION_DESCRIPTORS_H
#define PARPLAN_RUNTIME_CUDA_CONVOLUTION_DESCRIPTORS_H

#include "cuda_rank.h"
#include "failure.h"
#include "parplan_runtime/narrow_floats.h"
#include "parplan_runtime/shapes.h"

#include <memory>
#include <vector>

namespace parplan {
namespace runtime {

inline void check(cudnnStatus_t status, const char *what) {
  if (status != CUDNN_STATUS_SUCCESS)
    fail(exitDevice,
         std::string("cuDNN, ") + what + ": " + cudnnGetErrorString(status));
}

/// Whether cuDNN did what was asked; false where it has no means to.
inline bool managed(cudnnStatus_t status, const char *what) {
  const int category = CUDNN_STATUS_CATEGORY(static_cast<int>(status));
  if (category == CUDNN_STATUS_NOT_SUPPORTED ||
      category == CUDNN_STATUS_BAD_PARAM)
    return false;
  check(status, what);
  return true;
}

/// Three spatial dimensions, the missing ones of size 1 in front.
struct Geometry {
  int in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1},
      stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};

  explicit Geometry(const ConvolutionShape &shape) {
    const int32_t skip = 3 - shape.spatialRank;
    for (int32_t d = 0; d < shape.spatialRank; ++d) {
      in[skip + d] = static_cast<int>(shape.in[d]);
      out[skip + d] = static_cast<int>(shape.out[d]);
      kernel[skip + d] = static_cast<int>(shape.kernel[d]);
      stride[skip + d] = static_cast<int>(shape.stride[d]);
      dilation[skip + d] = static_cast<int>(shape.dilation[d]);
      pad[skip + d] = static_cast<int>(shape.padLow[d]);
    }
  }
  /// Whether the same padding behind gives these output sizes.
  bool symmetric() const {
    for (int d = 0; d < 3; ++d)
      if (out[d] !=
          (in[d] + 2 * pad[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] +
              1)
        return false;
    return true;
  }
};

template <typename Element>
constexpr cudnnDataType_t cudnnType = CUDNN_DATA_FLOAT;
template <> constexpr cudnnDataType_t cudnnType<double> = CUDNN_DATA_DOUBLE;
template <> constexpr cudnnDataType_t cudnnType<BFloat16> = CUDNN_DATA_BFLOAT16;
template <> constexpr cudnnDataType_t cudnnType<Float16> = CUDNN_DATA_HALF;

/// What algorithms are asked for. Single precision is computed as such; tensor
/// cores multiply 16-bit elements exactly and add in single precision.
template <typename Element>
constexpr cudnnMathType_t mathType =
    isNarrow<Element> ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;

/// Whether an algorithm that cuDNN proposes may be used.
template <typename Element, typename Choice>
bool usable(const Choice &choice, const Workspace &workspace) {
  return choice.status == CUDNN_STATUS_SUCCESS &&
         (isNarrow<Element> || choice.mathType == CUDNN_FMA_MATH) &&
         choice.determinism == CUDNN_DETERMINISTIC &&
         choice.memory <= static_cast<size_t>(workspace.bytes);
}

/// The descriptors of one call.
struct Descriptors {
  cudnnTensorDescriptor_t in = nullptr, out = nullptr;
  cudnnFilterDescriptor_t weight = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;

  /// `sums` is the type of the arithmetic.
  Descriptors(const ConvolutionShape &shape, const Geometry &g,
              cudnnDataType_t type, cudnnDataType_t sums,
              cudnnMathType_t math) {
    check(cudnnCreateTensorDescriptor(&in), "descriptor");
    check(cudnnCreateTensorDescriptor(&out), "descriptor");
    check(cudnnCreateFilterDescriptor(&weight), "descriptor");
    check(cudnnCreateConvolutionDescriptor(&convolution), "descriptor");
    // Two spatial dimensions are cuDNN's best road; three where needed.
    const int skip = shape.spatialRank == 3 ? 0 : 1;
    const int spatial = 3 - skip;
    const auto tensor = [&](cudnnTensorDescriptor_t target, int64_t channels,
                            const int *sizes) {
      int dims[5] = {static_cast<int>(shape.batch), static_cast<int>(channels)};
      int strides[5];
      for (int d = 0; d < spatial; ++d)
        dims[2 + d] = sizes[skip + d];
      int stride = 1;
      for (int d = spatial + 1; d >= 0; --d) {
        strides[d] = stride;
        stride *= dims[d];
      }
      check(
          cudnnSetTensorNdDescriptor(target, type, spatial + 2, dims, strides),
          "tensor");
    };
    tensor(in, shape.inChannels, g.in);
    tensor(out, shape.outChannels, g.out);
    int dims[5] = {static_cast<int>(shape.outChannels),
                   static_cast<int>(shape.inChannels / shape.groups)};
    for (int d = 0; d < spatial; ++d)
      dims[2 + d] = g.kernel[skip + d];
    check(cudnnSetFilterNdDescriptor(weight, type, CUDNN_TENSOR_NCHW,
                                     spatial + 2, dims),
          "weights");
    check(cudnnSetConvolutionNdDescriptor(convolution, spatial, g.pad + skip,
                                          g.stride + skip, g.dilation + skip,
                                          CUDNN_CROSS_CORRELATION, sums),
          "convolution");
    check(cudnnSetConvolutionGroupCount(convolution,
                                        static_cast<int>(shape.groups)),
          "groups");
    setMath(math);
  }
  /// Of the algorithm that is called: with other arithmetic it needs another
  /// workspace.
  void setMath(cudnnMathType_t math) const {
    check(cudnnSetConvolutionMathType(convolution, math), "precision");
  }
  Descriptors(const Descriptors &) = delete;
  ~Descriptors() {
    cudnnDestroyConvolutionDescriptor(convolution);
    cudnnDestroyFilterDescriptor(weight);
    cudnnDestroyTensorDescriptor(out);
    cudnnDestroyTensorDescriptor(in);
  }
};

enum class ConvolutionKind { Forward, InputGradient, WeightGradient };

/// A prepared convolution: the algorithms that are left, the best one first.
struct ConvolutionPlan {
  struct Choice {
    int algorithm;
    cudnnMathType_t math;
  };
  Descriptors descriptors;
  std::vector<Choice> choices;
};

/// All that a plan depends on.
template <typename Element>
std::vector<int64_t> getPlanKey(ConvolutionKind kind,
                                const ConvolutionShape &shape,
                                int64_t workspaceBytes) {
  std::vector<int64_t> key = {static_cast<int64_t>(kind),
                              cudnnType<Element>,
                              workspaceBytes,
                              shape.batch,
                              shape.inChannels,
                              shape.outChannels,
                              shape.groups,
                              shape.spatialRank};
  for (int32_t d = 0; d < shape.spatialRank; ++d)
    key.insert(key.end(),
               {shape.in[d], shape.out[d], shape.kernel[d], shape.stride[d],
                shape.dilation[d], shape.padLow[d]});
  return key;
}

/// Runs a convolution by the first algorithm that can: `find(handle,
/// descriptors, most, count, choices)` asks cuDNN for `Found`, `run(handle,
/// descriptors, algorithm)` calls one. False: there is none.
template <typename Element, typename Found, typename Find, typename Run>
bool runByLibrary(Stream &stream, ConvolutionKind kind,
                  const ConvolutionShape &shape, const Geometry &g,
                  Workspace workspace, const Find &find, const Run &run) {
  if (!g.symmetric())
    return false;
  auto &rank = static_cast<CudaRank &>(stream.rank());
  check(cudnnSetStream(rank.dnn(), streamOf(stream)), "stream");
  std::unique_ptr<ConvolutionPlan> &plan =
      rank.convolutions[getPlanKey<Element>(kind, shape, workspace.bytes)];
  if (!plan) {
    plan.reset(
        new ConvolutionPlan{{shape, g, cudnnType<Element>,
                             cudnnType<Arithmetic<Element>>, mathType<Element>},
                            {}});
    constexpr int most = 16;
    Found found[most];
    int count = 0;
    if (managed(find(rank.dnn(), plan->descriptors, most, &count, found),
                "choice of an algorithm"))
      for (int i = 0; i < count; ++i)
        if (usable<Element>(found[i], workspace))
          plan->choices.push_back({found[i].algo, found[i].mathType});
  }
  for (; !plan->choices.empty(); plan->choices.erase(plan->choices.begin())) {
    const auto [algorithm, math] = plan->choices.front();
    plan->descriptors.setMath(math);
    if (managed(run(rank.dnn(), plan->descriptors,
                    static_cast<decltype(Found::algo)>(algorithm)),
                "convolution"))
      return true;
  }
  return false;
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_CUDA_CONVOLUTION_DESCRIPTORS_H
