// RUN: parplan-opt %s -split-input-file -parplan-decompose-split-composites | FileCheck %s

parplan.mesh @mesh <["x"=2 data, "y"=2 tensor]>

// The reductions inside of a split softmax become values with layouts of their
// own; what they make is completed at once.
// CHECK-LABEL: func.func @softmax_over_split_dimension
func.func @softmax_over_split_dimension(%a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: %[[MAX:.*]] = parplan.reduce max %{{.*}} dims [1]
  // CHECK-SAME: parplan.block = 3 : i64, parplan.factors = #parplan.factors<@mesh, {d0 = ["x"], d1 = ["y"]}>
  // CHECK-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]
  // CHECK: %[[SUB:.*]] = parplan.sub %{{.*}}, %[[MAX]]
  // CHECK-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {"y"}]>]
  // CHECK: parplan.exp %[[SUB]]
  // CHECK: parplan.reduce sum
  // CHECK: %[[RESULT:.*]] = parplan.div
  // CHECK-SAME: parplan.factors = #parplan.factors<@mesh, {d0 = ["x"], d1 = ["y"]}>
  // The result still rests where the plan says.
  // CHECK-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]
  // CHECK: return %[[RESULT]]
  %b = parplan.softmax %a dim 1 {parplan.block = 3 : i64,
    parplan.factors = #parplan.factors<@mesh, {d0 = ["x"], d1 = ["y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<4x8xf32>
  return %b : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @softmax_over_whole_dimension
func.func @softmax_over_whole_dimension(%a: tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x8xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: parplan.softmax
  %b = parplan.softmax %a dim 1 {
    parplan.factors = #parplan.factors<@mesh, {d0 = ["x", "y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}, {}]>]} : tensor<4x8xf32>
  return %b : tensor<4x8xf32>
}

// -----

parplan.mesh @mesh <["y"=2 tensor]>

// Parts that are composites themselves are decomposed where they are split:
// here the softmax over the keys.
// CHECK-LABEL: func.func @attention_over_split_keys
// CHECK-NOT: parplan.attention
// CHECK-NOT: parplan.softmax
// CHECK: parplan.matmul "bsgre,btge->bgrst"
// CHECK-SAME: {t = ["y"]}
// CHECK: parplan.reduce max
// CHECK: parplan.matmul "bgrst,btgf->bsgrf"
// CHECK-SAME: {t = ["y"]}
// CHECK-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{}, {}, {}, {}, {}]>]
func.func @attention_over_split_keys(
    %q: tensor<1x4x2x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {}, {}]>},
    %k: tensor<1x4x2x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"y"}, {}, {}]>})
    -> (tensor<1x4x2x4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {}, {}]>}) {
  %o = parplan.attention %q, %k, %k scale 5.0e-01 causal {
    parplan.factors = #parplan.factors<@mesh, {t = ["y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}, {}, {}]>]}
    : tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>
  return %o : tensor<1x4x2x4xf32>
}

// -----

parplan.mesh @mesh <["y"=2 tensor]>

// A bias is added once, not once per block of input channels (S9).
// CHECK-LABEL: func.func @convolution_with_split_input_channels
func.func @convolution_with_split_input_channels(
    %x: tensor<1x4x5xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"y"}, {}]>},
    %w: tensor<6x4x3xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"y"}, {}]>},
    %bias: tensor<6xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>})
    -> (tensor<1x6x3xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {}]>}) {
  // CHECK: %[[PRODUCT:.*]] = parplan.conv %{{[^,]*}}, %{{[^,]*}} strides
  // CHECK-SAME: {ci = ["y"]}
  // CHECK-SAME: parplan.shardings = [#parplan.sharding<@mesh, [{}, {}, {}]>]
  // CHECK: parplan.add %[[PRODUCT]]
  %y = parplan.conv %x, %w, %bias strides [1] pads [0, 0] dilations [1] groups 1 {
    parplan.factors = #parplan.factors<@mesh, {ci = ["y"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}, {}]>]}
    : tensor<1x4x5xf32>, tensor<6x4x3xf32>, tensor<6xf32>
  return %y : tensor<1x6x3xf32>
}
