// RUN: parplan-opt %s -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | parplan-emit | FileCheck %s

// CHECK: constexpr Dimension {{.*}} = {{{.*}}{8, {{.*}}, 4, 2}
// CHECK: attention<float>({{.*}} false, false, rank.blockStart(8, {0}), rank.blockStart(8, {0}), rank.blockExtent(8, {0}), 2}, rank.workspace(
// CHECK: attention<float>({{.*}} true, false, rank.blockStart(8, {0}), rank.blockStart(8, {0}, 1), rank.blockExtent(8, {0}, 1), 2}, rank.workspace(
parplan.mesh @mesh <["c"=2 context]>
func.func @main(%x: tensor<1x4x1x4xf32> {parplan.name = "x", parplan.zigzag = array<i64: 1, 2, 1, 1>, parplan.global_type = tensor<1x8x1x4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>})
    -> (tensor<1x4x1x4xf32> {parplan.name = "y", parplan.zigzag = array<i64: 1, 2, 1, 1>, parplan.global_type = tensor<1x8x1x4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>}) {
  %start = parplan.block_start 8 axes <"c"> : tensor<i64>
  %y = parplan.ring_attention %x, %x, %x offset %start : tensor<i64> axes <"c"> keys 8 scale 0.5 causal zigzag : tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>
  return %y : tensor<1x4x1x4xf32>
}
