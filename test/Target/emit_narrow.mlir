// 16-bit floats are types of arrays: kernels compute in float and round where they store.
// RUN: parplan-opt %S/Inputs/narrow.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit | FileCheck %s

// CHECK: const BFloat16 *in0;
// CHECK-NEXT: float *out;
// CHECK: const float v0 = in0[i0];
// CHECK-NEXT: const float v1 = 2.0f;
// CHECK: const float *in0;
// CHECK-NEXT: BFloat16 *out;
// CHECK: const float v1 = static_cast<float>(BFloat16(static_cast<float>(v0)));
// CHECK-NEXT: out[i0] = BFloat16(v1);
// CHECK: const float v1 = static_cast<float>(Float16(static_cast<float>(v0)));
// CHECK: matmul<BFloat16>(compute,
// CHECK: softmax<float>(
// CHECK: crossEntropy<BFloat16, int64_t>({{.*}}, rank.at<float>({{[0-9]+}}), nullptr, 4, 6);
// CHECK: squareSum<BFloat16>({{.*}}, rank.at<double>(
// CHECK: optimizerUpdate<float>({{.*}}, OptimizerShape{OptimizerKind::Sgd, 0, 0, 0, 0, 0}, OptimizerScalars<float>{rank.at<float>({{[0-9]+}}), nullptr, nullptr, nullptr, nullptr},
