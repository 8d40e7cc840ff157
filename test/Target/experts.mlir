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
// EXEC: exec.moe_matmul %{{.*}} [8, 1], %{{.*}} [6, 1], %{{.*}} first %{{.*}} : !exec.buffer<i64> workspace %{{.*}} : !exec.buffer<{{[0-9]+}}xi8> into %{{.*}} [6, 1] sizes [3, 2] shape [10, 6, 8] experts [80, 48, 60] {cost = #exec.cost<expert_matrix flops 822 transcendentals 0 read 1704 written 720 shape [3, 6, 8, 3]>}
// EXEC: exec.moe_combine %{{.*}}, %{{.*}} weights %{{.*}} into %{{.*}} shape [7, 4, 6, 2] {
// EXEC: exec.moe_weight_gradient %{{.*}}, %{{.*}}, %{{.*}} into %{{.*}} shape [7, 4, 6, 2] {
// EXEC: exec.moe_matmul sums_tokens %{{.*}} [1, 8], %{{.*}} [6, 1], %{{.*}} sizes [3, 2] shape [8, 6, 10] experts [80, 60, 48] {
// EXEC: exec.moe_dispatch %{{.*}}, %{{.*}} weights %{{.*}} first %{{.*}} into %{{.*}} shape [3, 10, 8, 2] {

// SOURCE: moeDispatch<float, int64_t>(compute, {{.*}}, rank.at<float>({{[0-9]+}}), rank.at<int64_t>({{[0-9]+}}), nullptr, nullptr, rank.at<float>({{[0-9]+}}), ExpertShape{7, 4, 8, 2});
// SOURCE: moeMatmul<float, int64_t>(compute, {{.*}}, rank.at<float>({{[0-9]+}}), rank.at<float>({{[0-9]+}}), rank.at<int64_t>({{[0-9]+}}), rank.at<int64_t>({{[0-9]+}}), rank.at<float>({{[0-9]+}}), ExpertProductShape{3, 2, false, {80, 48, 60}, MatmulShape{10, 6, 8, 8, 1, 6, 1, 6, 1{{[}][}]}}, rank.workspace({{.*}}));
// SOURCE: moeCombine<float, int64_t>(compute, {{.*}}, rank.at<float>({{[0-9]+}}), nullptr, rank.at<float>({{[0-9]+}}), ExpertShape{7, 4, 6, 2});
// SOURCE: moeWeightGradient<float, int64_t>(compute, {{.*}}, rank.at<int64_t>({{[0-9]+}}), nullptr, rank.at<float>({{[0-9]+}}), ExpertShape{7, 4, 6, 2});
