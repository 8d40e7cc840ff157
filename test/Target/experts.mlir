// A mixture of experts, run on three ranks and compared with NumPy, its prediction and the formula of expert parallelism.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/experts.py prepare %t
// RUN: parplan-opt %S/Inputs/experts.mlir -parplan-insert-reshards -parplan-reshards-to-collectives -parplan-localize -parplan-verify-local -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec -o %t/exec.mlir
// RUN: FileCheck %s --check-prefix=EXEC < %t/exec.mlir
// RUN: parplan-emit %t/exec.mlir -o %t --compile host --runtime %runtime
// RUN: %t/program --input x=%t/x.npy --input i=%t/i.npy --input s=%t/s.npy --input w=%t/w.npy --input g=%t/g.npy --output-dir %t/out --metrics %t/metrics.json
// RUN: parplan-emit %t/exec.mlir --prediction > %t/prediction.json
// RUN: %python %S/Inputs/experts.py compare %t | FileCheck %s
// RUN: parplan-emit %t/exec.mlir | FileCheck %s --check-prefix=SOURCE

// CHECK: y: equal
// CHECK-NEXT: dx: equal
// CHECK-NEXT: dw: equal
// CHECK-NEXT: ds: equal
// CHECK-NEXT: z: equal
// CHECK-NEXT: dz: equal
// CHECK-NEXT: communication, order and memory are as predicted
// CHECK-NEXT: all_to_all: as the formula

// EXEC: exec.moe_dispatch %{{.*}}, %{{.*}} into %{{.*}} shape [7, 4, 8, 2] {
// EXEC: exec.moe_combine %{{.*}}, %{{.*}} weights %{{.*}} into %{{.*}} shape [7, 4, 6, 2] {
// EXEC: exec.moe_weight_gradient %{{.*}}, %{{.*}}, %{{.*}} into %{{.*}} shape [7, 4, 6, 2] {
// EXEC: exec.moe_dispatch %{{.*}}, %{{.*}} weights %{{.*}} first %{{.*}} into %{{.*}} shape [3, 10, 8, 2] {

// SOURCE: moeDispatch<float, int64_t>(compute, {{.*}}, rank.at<float>({{[0-9]+}}), rank.at<int64_t>({{[0-9]+}}), nullptr, nullptr, rank.at<float>({{[0-9]+}}), ExpertShape{7, 4, 8, 2});
// SOURCE: moeCombine<float, int64_t>(compute, {{.*}}, rank.at<float>({{[0-9]+}}), nullptr, rank.at<float>({{[0-9]+}}), ExpertShape{7, 4, 6, 2});
// SOURCE: moeWeightGradient<float, int64_t>(compute, {{.*}}, rank.at<int64_t>({{[0-9]+}}), nullptr, rank.at<float>({{[0-9]+}}), ExpertShape{7, 4, 6, 2});
