// RUN: parplan-opt %s -split-input-file -parplan-localize -parplan-verify-local | FileCheck %s

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>
parplan.initializer @w "w" : tensor<8x6xf32> in "" at 0 length 192

// Types become those of one rank's blocks; global types are kept beside.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME: %[[A:.*]]: tensor<2x4xf32> {parplan.global_type = tensor<4x8xf32>, parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>}
// CHECK-SAME: -> (tensor<2x6xf32> {parplan.global_type = tensor<4x6xf32>
func.func @blocks(%a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<4x6xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // A stored parameter is a flat piece of its block.
  // CHECK: %[[PIECE:.*]] = parplan.parameter @w {parplan.global_type = tensor<8x6xf32>
  // CHECK-SAME: : tensor<12xf32>
  %w = parplan.parameter @w {parplan.shardings = [#parplan.sharding<@mesh, [{"y"}, {}], stored = {"x"}>]} : tensor<8x6xf32>
  // CHECK: %[[W:.*]] = parplan.all_gather %[[PIECE]] axes <"x"> dim -1
  // CHECK-SAME: tensor<12xf32> -> tensor<4x6xf32>
  %whole = parplan.all_gather %w axes <"x"> dim -1 to <@mesh, [{"y"}, {}]> : tensor<8x6xf32> -> tensor<8x6xf32>
  // CHECK: parplan.matmul "mk,kn->mn" %[[A]], %[[W]] {parplan.global_type = tensor<4x6xf32>
  // CHECK-NOT: parplan.factors
  // CHECK-SAME: : tensor<2x4xf32>, tensor<4x6xf32>
  %b = parplan.matmul "mk,kn->mn" %a, %whole {
    parplan.factors = #parplan.factors<@mesh, {m = ["x"], k = ["y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}], partial = sum{"y"}>]} : tensor<4x8xf32>, tensor<8x6xf32>
  // CHECK: parplan.all_reduce sum %{{.*}} : tensor<2x6xf32> -> tensor<2x6xf32>
  %c = parplan.all_reduce sum %b axes <"y"> to <@mesh, [{"x"}, {}]> : tensor<4x6xf32> -> tensor<4x6xf32>
  return %c : tensor<4x6xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>

// S4: exp(0) = 1, so the padding behind the fifth element is cleared; neg keeps
// it zero.
// CHECK-LABEL: func.func @padding
func.func @padding(%a: tensor<5xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>})
    -> (tensor<5xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>}) {
  // CHECK: %[[NEG:.*]] = parplan.neg
  // CHECK-NEXT: %[[EXP:.*]] = parplan.exp %[[NEG]] {{.*}} : tensor<3xf32>
  // CHECK-NEXT: %[[CLEAN:.*]] = parplan.clear_padding %[[EXP]] dims [0] sizes [5] axes [#parplan.axes<"x">] fill 0.000000e+00
  // CHECK-NEXT: return %[[CLEAN]]
  %b = parplan.neg %a {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}]>]} : tensor<5xf32>
  %c = parplan.exp %b {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}]>]} : tensor<5xf32>
  return %c : tensor<5xf32>
}

// Padding must not be the maximum of negative elements.
// CHECK-LABEL: func.func @maximum_over_padding
func.func @maximum_over_padding(%a: tensor<5xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>})
    -> (tensor<f32> {parplan.sharding = #parplan.sharding<@mesh, []>}) {
  // CHECK: %[[MASKED:.*]] = parplan.clear_padding %{{.*}} dims [0] sizes [5] axes [#parplan.axes<"x">] fill 0xFFF0000000000000
  // CHECK-NEXT: parplan.reduce max %[[MASKED]]
  %b = parplan.reduce max %a dims [0] {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [], partial = max{"x"}>]} : tensor<5xf32>
  %c = parplan.all_reduce max %b axes <"x"> to <@mesh, []> : tensor<f32> -> tensor<f32>
  return %c : tensor<f32>
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>

// Ids become relative to the first row of the block; rows of other blocks are
// outside of the table and give zeros.
// CHECK-LABEL: func.func @rows_of_a_split_table
// CHECK-SAME: %[[IDS:.*]]: tensor<3xi32>
func.func @rows_of_a_split_table(
    %ids: tensor<3xi32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>},
    %table: tensor<509x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<3x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[START:.*]] = parplan.block_start 509 axes <"x", "y"> : tensor<i64>
  // CHECK: %[[CAST:.*]] = parplan.cast %[[START]] : tensor<i64> to tensor<i32>
  // CHECK: %[[LOCAL:.*]] = parplan.sub %[[IDS]], %[[CAST]]
  // CHECK: parplan.embedding %[[LOCAL]], %{{.*}} : tensor<3xi32>, tensor<128x8xf32>
  %b = parplan.embedding %ids, %table {
    parplan.factors = #parplan.factors<@mesh, {v = ["x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"x", "y"}>]} : tensor<3xi32>, tensor<509x8xf32>
  %c = parplan.all_reduce sum %b axes <"x", "y"> to <@mesh, [{}, {}]> : tensor<3x8xf32> -> tensor<3x8xf32>
  return %c : tensor<3x8xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>

// CHECK-LABEL: func.func @indices
func.func @indices()
    -> (tensor<4x6xi64> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<4x6xi64> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: %[[IOTA:.*]] = parplan.iota 1 : tensor<2x3xi64>
  // CHECK: %[[START:.*]] = parplan.block_start 6 axes <"y">
  // CHECK: %[[SHIFTED:.*]] = parplan.add %[[IOTA]], %[[START]]
  %a = parplan.iota 1 {parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {"y"}]>]} : tensor<4x6xi64>
  // The dimension that counts is whole: nothing to shift.
  // CHECK: %[[WHOLE:.*]] = parplan.iota 1 {{.*}} : tensor<2x6xi64>
  %b = parplan.iota 1 {parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<4x6xi64>
  // CHECK: return %[[SHIFTED]], %[[WHOLE]]
  return %a, %b : tensor<4x6xi64>, tensor<4x6xi64>
}

// A mask whose rows are split compares shifted indices.
// CHECK-LABEL: func.func @mask
func.func @mask() -> (tensor<4x6xi1> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: %[[ROWS:.*]] = parplan.iota 0 : tensor<2x1xi64>
  // CHECK: %[[START:.*]] = parplan.block_start 4 axes <"x">
  // CHECK: %[[SHIFTED:.*]] = parplan.add %[[ROWS]], %[[START]]
  // CHECK: %[[MINUS:.*]] = parplan.constant dense<-1>
  // CHECK: %[[LEFT:.*]] = parplan.mul %[[SHIFTED]], %[[MINUS]]
  // CHECK: %[[RIGHT:.*]] = parplan.iota 1 : tensor<1x6xi64>
  // CHECK: %[[SUM:.*]] = parplan.add %[[LEFT]], %[[RIGHT]]
  // CHECK: %[[LIMIT:.*]] = parplan.constant dense<2>
  // CHECK: parplan.compare le %[[SUM]], %[[LIMIT]]
  %a = parplan.affine_mask [-1, 1] + -2 {parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<4x6xi1>
  return %a : tensor<4x6xi1>
}

// -----

parplan.mesh @mesh <["x"=2 sequence]>

// Causal attention over a block of queries sees the keys before that block.
// CHECK-LABEL: func.func @causal_attention
func.func @causal_attention(
    %q: tensor<1x4x2x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %k: tensor<1x4x2x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {}, {}]>})
    -> (tensor<1x4x2x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
  // CHECK: %[[START:.*]] = parplan.block_start 4 axes <"x">
  // CHECK: parplan.attention %{{.*}} offset %[[START]]
  %o = parplan.attention %q, %k, %k scale 5.0e-01 causal {
    parplan.factors = #parplan.factors<@mesh, {s = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}, {}, {}]>]}
    : tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>
  return %o : tensor<1x4x2x4xf32>
}

// -----

parplan.mesh @mesh <["x"=2 tensor]>

// Split groups: a rank convolves those of its channels.
// CHECK-LABEL: func.func @grouped_convolution
func.func @grouped_convolution(
    %x: tensor<1x4x5xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {}]>},
    %w: tensor<4x1x3xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}, {}]>})
    -> (tensor<1x4x3xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"x"}, {}]>}) {
  // CHECK: parplan.conv %{{.*}} groups 2 {{.*}} : tensor<1x2x5xf32>, tensor<2x1x3xf32>
  %y = parplan.conv %x, %w strides [1] pads [0, 0] dilations [1] groups 4 {
    parplan.factors = #parplan.factors<@mesh, {g = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"x"}, {}]>]}
    : tensor<1x4x5xf32>, tensor<4x1x3xf32>
  return %y : tensor<1x4x3xf32>
}

// A splat becomes smaller; its padding is cleared.
// CHECK-LABEL: func.func @splat
func.func @splat() -> (tensor<5xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>}) {
  // CHECK: %[[SPLAT:.*]] = parplan.constant {{.*}} dense<2.000000e+00> : tensor<3xf32>
  // CHECK: parplan.clear_padding %[[SPLAT]]
  %a = parplan.constant {parplan.shardings = [#parplan.sharding<@mesh, [{"x"}]>]} dense<2.0> : tensor<5xf32>
  return %a : tensor<5xf32>
}
