// RUN: parplan-opt %S/Inputs/rings.mlir -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit | FileCheck %s

// CHECK: attention<BFloat16, float>({{.*}}, nullptr, nullptr, rank.at<float>([[Y:[0-9]+]]), rank.at<float>([[L:[0-9]+]]), AttentionShape{1, 4, 4, 2, 1, 8, 8, {64, 16, 8}, {32, 8, 8}, {32, 8, 8}, {64, 16, 8}, MaskKind::None, {}, 0.5, true, true, false, false, rank.blockStart(7, {0}), rank.blockStart(7, {0}), rank.blockExtent(7, {0})}, rank.workspace(
// CHECK: attention<BFloat16, float>({{.*}}, nullptr, nullptr, rank.at<float>([[Y]]), rank.at<float>([[L]]), AttentionShape{{{.*}} true, true, true, false, rank.blockStart(7, {0}), rank.blockStart(7, {0}, 1), rank.blockExtent(7, {0}, 1)}, rank.workspace(
// CHECK: attentionGradient<BFloat16, float>({{.*}} true, false, false, false, rank.blockStart(7, {0}), rank.blockStart(7, {0}), rank.blockExtent(7, {0})}, {64, 16, 8}, rank.workspace(
// CHECK: map<1>({{.*}}32{{.*}}, Kernel{{[0-9]+}}{rank.at<BFloat16>(
// CHECK: attention<float>({{.*}}, 0.5, false, true}, rank.workspace(
// CHECK: attentionGradient<float>({{.*}}, 0.5, false, false}, {64, 16, 8}, rank.workspace(
