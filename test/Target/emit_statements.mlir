// RUN: parplan-opt %S/Inputs/all_statements.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit | FileCheck %s

// CHECK: convolution<float>(compute, {{.*}}, ConvolutionShape{2, 3, 4, 1, 2, {8, 8}, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}}, rank.workspace(
// CHECK: maxPool<float>({{.*}}, PoolShape{2, 4, 2, {8, 8}, {4, 4}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false});
// CHECK: averagePool<float>({{.*}}, PoolShape{2, 4, 2, {4, 4}, {1, 1}, {4, 4}, {4, 4}, {1, 1}, {0, 0}, {0, 0}, true});
// CHECK: attention<float>({{.*}}, rank.at<bool>({{[0-9]+}}), nullptr, {{.*}}, AttentionShape{1, 5, 5, 2, 2, 4, 4, {40, 8, 4}, {40, 8, 4}, {40, 8, 4}, {40, 8, 4}, MaskKind::Bool, {0, 0, 5, 1}, 0.5, false, false}, rank.workspace(
// CHECK: softmax<float>({{.*}}, 16, 8, 1);
// CHECK: logSoftmax<float>({{.*}}, 1, 16, 8);
// CHECK: layerNorm<float>({{.*}}, 16, 8, 1.0000000000000001e-05);
// CHECK: rmsNorm<float>({{.*}}, 16, 8, 9.9999999999999995e-07);
// CHECK: embedding<float, int64_t>({{.*}}, nullptr, {{.*}}, 10, 16, 8);
// CHECK: gather<float, int64_t>({{.*}}, 2, 5, 2, 8);
// CHECK: matmul<float>({{.*}}, MatmulShape{5, 5, 8, 8, 1, 1, 8, 5, 1, 1, {2}, {40}, {40}, {25}});
// CHECK: reduce<float>({{.*}}, Reduction::Sum, {{.*}}, 10, 5, 1);
// CHECK: cumsum<float>({{.*}}, 2, 5, 1, false, false);
// CHECK: gatherElements<float, int64_t>({{.*}}, Shape{2, 5}, Shape{2, 5}, 1);
// CHECK: topk<float>({{.*}}, nullptr, rank.at<int64_t>({{[0-9]+}}), 2, 5, 1, 3, true);
// CHECK: gatherNd<float, int64_t>({{.*}}, 2, 5, Shape{5}, 1);
// CHECK: communicator0.allGather(communication, {{.*}}, ElementType::Float32, {{.*}}, 4);
