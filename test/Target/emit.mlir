// RUN: parplan-opt %S/Inputs/tensor_parallel_mlp.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit | FileCheck %s

// CHECK: #include "parplan_runtime/program.h"
// CHECK: constexpr Axis mesh[] = {{[{][{]}}"tp0", 2}};
// CHECK: constexpr CommunicatorEntry communicators[] = {
// CHECK-NEXT: {"tp0", axes0, 1},
// Names of the model are data.
// CHECK: {"fc1.\"weight?\077/\012", ElementType::Float32, 0, 480, 0, dimensions0, 192},
// CHECK-NEXT: {"fc1.bias", ElementType::Float32, 512, 60, 0, dimensions1, 448},

// CHECK: struct Kernel0 {
// CHECK-NEXT: const float *in0;
// CHECK-NEXT: const float *in1;
// CHECK-NEXT: float *out;
// CHECK-NEXT: int64_t scalar0;
// CHECK-NEXT: PARPLAN_DEVICE void operator()(int64_t i0, int64_t i1) const {
// CHECK-NEXT: const float v0 = in0[i0 * 8 + i1];
// CHECK-NEXT: const float v1 = in1[i1];
// CHECK-NEXT: const float v2 = v0 + v1;
// CHECK-NEXT: const float v3 = geluErf(v2);
// CHECK-NEXT: const bool v4 = i1 < scalar0;
// CHECK-NEXT: const float v5 = 0.0f;
// CHECK-NEXT: const float v6 = v4 ? v3 : v5;
// CHECK-NEXT: out[i0 * 8 + i1] = v6;

// CHECK: void step(Rank &rank) {
// CHECK: matmul<float>(compute, {{[{][{]}}0, 192}, {192, 256}, {832, 192}}, rank.at<float>(0), rank.at<float>(192), rank.at<float>(832), MatmulShape{6, 8, 8, 8, 1, 8, 1, 8, 1});
// CHECK-NEXT: map<2>(compute, {{[{][{]}}832, 192}, {448, 32}}, {{[{][{]}}6, 8}}, Kernel0{rank.at<float>(832), rank.at<float>(448), rank.at<float>(832), rank.blockExtent(15, {0})});
// CHECK-NEXT: matmul<float>
// CHECK-NEXT: rank.record(0, compute);
// CHECK-NEXT: rank.wait(0, communication);
// CHECK-NEXT: communicator0.allReduce(communication, {{[{][{]}}1024, 192}}, Reduction::Sum, ElementType::Float32, rank.at<char>(1024), rank.at<char>(1024), 48);
// CHECK-NEXT: rank.record(0, communication);
// CHECK-NEXT: rank.wait(0, compute);
// CHECK-NEXT: map<2>
// CHECK-NEXT: {{^}}}

// CHECK: /*arenaBytes=*/1216,
// CHECK: /*eventCount=*/1, step},
// CHECK: return parplan::runtime::runProgram(program, argc, argv);
