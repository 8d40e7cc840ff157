//===- example_program.cu - What an emitted program looks like ------------===//
//
// A tensor-parallel MLP on two ranks, written as the emitter writes it:
//   hidden = gelu(x W1 + b1)     W1 is split by columns over "tp0"
//   y      = hidden W2           partial sums, all-reduced over "tp0"
//   out    = y + b2 + x
// Global sizes: 6 rows, width 8, hidden width 15 (a padded block of 8 a rank).
//
// Contract of the text:
//  * one include; kernels are structs at namespace scope whose members are
//    pointers, valid extents and scalars; constants are literals in the body;
//  * tables are constexpr and static; names of the model occur in them only;
//  * `step` takes no decision: it names buffers by offset, and each launch
//    lists the ranges {offset, bytes} that it touches;
//  * communication lies between an event wait and an event record.
//
//===----------------------------------------------------------------------===//

#include "parplan_runtime/program.h"

using namespace parplan::runtime;

namespace {

constexpr Axis mesh[] = {{"tp0", 2}};
constexpr int32_t axes0[] = {0};
constexpr CommunicatorEntry communicators[] = {{"tp0", axes0}};

// {global size, axes that split it, stride in the file}
constexpr Dimension parameter0[] = {{8, {}, 15}, {15, axes0, 1}};
constexpr Dimension parameter1[] = {{15, axes0, 1}};
// The file holds the transposed matrix: the view swaps the strides.
constexpr Dimension parameter2[] = {{15, axes0, 1}, {8, {}, 15}};
constexpr Dimension parameter3[] = {{8, {}, 1}};
constexpr Parameter parameters[] = {
    {"fc1.weight", ElementType::Float32, 0, 480, 0, parameter0, 0},
    {"fc1.bias", ElementType::Float32, 512, 60, 0, parameter1, 256},
    {"fc2.weight", ElementType::Float32, 576, 480, 0, parameter2, 320},
    {"fc2.bias", ElementType::Float32, 1088, 32, 0, parameter3, 576},
};

constexpr Dimension input0[] = {{6, {}}, {8, {}}};
constexpr Tensor inputs[] = {{"x", ElementType::Float32, input0, 640}};
constexpr Dimension output0[] = {{6, {}}, {8, {}}};
constexpr Tensor outputs[] = {{"y", ElementType::Float32, output0, 1216}};

/// gelu(x + bias), zero in the padding of the hidden width.
struct Kernel0 {
  const float *in0;
  const float *in1;
  float *out0;
  int64_t valid1;
  PARPLAN_DEVICE void operator()(int64_t i0, int64_t i1) const {
    const float v0 = in0[i0 * 8 + i1];
    const float v1 = in1[i1];
    const float v2 = v0 + v1;
    const float v3 = geluErf(v2);
    const float v4 = i1 < valid1 ? v3 : 0.0f;
    out0[i0 * 8 + i1] = v4;
  }
};

/// y + bias + x.
struct Kernel1 {
  const float *in0;
  const float *in1;
  const float *in2;
  float *out0;
  PARPLAN_DEVICE void operator()(int64_t i0, int64_t i1) const {
    const float v0 = in0[i0 * 8 + i1];
    const float v1 = in1[i1];
    const float v2 = in2[i0 * 8 + i1];
    const float v3 = v0 + v1;
    const float v4 = v3 + v2;
    out0[i0 * 8 + i1] = v4;
  }
};

void step(Rank &rank) {
  Stream &compute = rank.stream(0);
  Stream &communication = rank.stream(1);
  Communicator &communicator0 = rank.communicator(0);

  // x W1
  matmul<float>(compute, {{640, 192}, {0, 256}, {832, 192}},
                rank.at<float>(640), rank.at<float>(0), rank.at<float>(832),
                MatmulShape{/*m=*/6, /*n=*/8, /*k=*/8, 8, 1, 8, 1, 8, 1});
  map<2>(compute, {{832, 192}, {256, 32}, {1024, 192}}, {6, 8},
         Kernel0{rank.at<float>(832), rank.at<float>(256), rank.at<float>(1024),
                 rank.blockExtent(15, {0})});
  // hidden W2, a partial sum; then summed in place.
  matmul<float>(compute, {{1024, 192}, {320, 256}, {832, 192}},
                rank.at<float>(1024), rank.at<float>(320), rank.at<float>(832),
                MatmulShape{6, 8, 8, 8, 1, 8, 1, 8, 1});
  rank.record(0, compute);
  rank.wait(0, communication);
  communicator0.allReduce(communication, {{832, 192}}, Reduction::Sum,
                          ElementType::Float32, rank.at<float>(832),
                          rank.at<float>(832), 48);
  rank.record(1, communication);
  rank.wait(1, compute);
  map<2>(compute, {{832, 192}, {576, 32}, {640, 192}, {1216, 192}}, {6, 8},
         Kernel1{rank.at<float>(832), rank.at<float>(576), rank.at<float>(640),
                 rank.at<float>(1216)});
}

constexpr Stage stages[] = {{parameters, inputs, outputs, /*arenaBytes=*/1408,
                             /*hostArenaBytes=*/0, /*nvmeArenaBytes=*/0,
                             /*streamCount=*/2, /*eventCount=*/2, step}};
constexpr Program program = {"example.onnx", mesh, communicators, stages,
                             /*orderDigests=*/{}};

} // namespace

int main(int argc, char **argv) {
  return parplan::runtime::runProgram(program, argc, argv);
}
