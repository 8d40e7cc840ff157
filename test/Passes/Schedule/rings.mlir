// RUN: parplan-opt %s -split-input-file -parplan-legalize-layouts -parplan-fuse-elementwise -parplan-to-exec | FileCheck %s

parplan.mesh @mesh <["c"=3 context]>

// While a block is attended the next one is on its way, into one of two places.
// The position of the queries is a number of the rank.
// CHECK-LABEL: exec.program @main
// CHECK: exec.communicator @c0 <"c">
// CHECK-DAG: %[[Q:.*]] = exec.buffer input {{.*}} block <"q"
// CHECK-DAG: %[[K:.*]] = exec.buffer input {{.*}} block <"k"
// CHECK: exec.exchange @c0 %[[K]] into %[[K1:.*]] send [1, 2, 0] receive [2, 0, 1]
// CHECK: exec.exchange @c0 %[[K]] into %[[V1:.*]] send
// CHECK: exec.attention %[[Q]], %[[K]], %[[K]] workspace %[[W:.*]] : {{.*}} log_sum_exp %[[L:.*]] : !exec.buffer<{{.*}}xf32> into %[[Y:.*]] causal
// CHECK-SAME: key_start = #exec.rank_value<start of 7 over <"c">>
// CHECK-SAME: query_start = #exec.rank_value<start of 6 over <"c">>
// CHECK-SAME: valid_keys = #exec.rank_value<extent of 7 over <"c">>
// CHECK: exec.exchange @c0 %[[K1]] into %[[K2:.*]] send
// CHECK: exec.exchange @c0 %[[V1]] into %[[V2:.*]] send
// CHECK: exec.attention accumulate %[[Q]], %[[K1]], %[[V1]] workspace %[[W]] : {{.*}} log_sum_exp %[[L]] : {{.*}} into %[[Y]] causal
// CHECK-SAME: key_start = #exec.rank_value<start of 7 over <"c"> back 1>
// CHECK-NOT: exec.exchange
// CHECK: exec.attention accumulate %[[Q]], %[[K2]], %[[V2]] workspace %[[W]] : {{.*}} log_sum_exp %[[L]] : {{.*}} into %[[Y]] causal
// CHECK-SAME: key_start = #exec.rank_value<start of 7 over <"c"> back 2>
func.func @main(%q: tensor<1x2x2x4xf32> {parplan.name = "q"}, %k: tensor<1x3x1x4xf32> {parplan.name = "k"}) -> (tensor<1x2x2x4xf32> {parplan.name = "y"}) {
  %start = parplan.block_start 6 axes <"c"> : tensor<i64>
  %y = parplan.ring_attention %q, %k, %k offset %start : tensor<i64> axes <"c"> keys 7 scale 0.5 causal : tensor<1x2x2x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>
  return %y : tensor<1x2x2x4xf32>
}

// -----

parplan.mesh @mesh <["c"=2 context]>

// Gradients of keys travel behind them, and what a rank adds is computed
// meanwhile. An offset that is computed lies in memory.
// CHECK-LABEL: exec.program @main
// CHECK-DAG: exec.kernel @add_f32_12 space [12]
// CHECK: %[[DK:.*]] = exec.buffer output {{.*}} block <"dk"
// CHECK: %[[DV:.*]] = exec.buffer output {{.*}} block <"dv"
// CHECK: exec.launch @kernel0
// CHECK-SAME: rank_value<start of 4 over <"c">>
// CHECK: exec.exchange @c0 {{.*}} into %[[K1:.*]] send [1, 0] receive [1, 0]
// CHECK: exec.exchange @c0 {{.*}} into %[[V1:.*]] send
// CHECK: exec.attention_gradient %{{.*}} offset %{{.*}} into %[[DQ:.*]], %[[DK0:.*]], %[[DV0:.*]] causal
// CHECK: exec.exchange @c0 %[[DK0]] into %[[DK1:.*]] send
// CHECK: exec.exchange @c0 %[[DV0]] into %[[DV1:.*]] send
// CHECK: exec.attention_gradient accumulate %{{.*}}, %[[K1]], %[[V1]] {{.*}} into %[[DQ]], %[[OWNK:.*]], %[[OWNV:.*]] causal
// CHECK: exec.launch @add_f32_12(%[[DK1]], %[[OWNK]]) scalars [] into %[[DK1]]
// CHECK: exec.launch @add_f32_12(%[[DV1]], %[[OWNV]]) scalars [] into %[[DV1]]
// CHECK: exec.exchange @c0 %[[DK1]] into %[[DK]] send
// CHECK: exec.exchange @c0 %[[DV1]] into %[[DV]] send
func.func @main(%q: tensor<1x2x2x4xf32> {parplan.name = "q"}, %k: tensor<1x3x1x4xf32> {parplan.name = "k"}, %l: tensor<1x2x2xf32> {parplan.name = "l"}, %o: tensor<i64> {parplan.name = "o"})
    -> (tensor<1x2x2x4xf32> {parplan.name = "dq"}, tensor<1x3x1x4xf32> {parplan.name = "dk"}, tensor<1x3x1x4xf32> {parplan.name = "dv"}) {
  %start = parplan.block_start 4 axes <"c"> : tensor<i64>
  %offset = parplan.add %o, %start : tensor<i64>, tensor<i64>
  %dq, %dk, %dv = parplan.ring_attention_gradient %q, %k, %k result %q, %l gradient %q offset %offset : tensor<i64> axes <"c"> keys 5 scale 0.5 causal : tensor<1x2x2x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2xf32>
  return %dq, %dk, %dv : tensor<1x2x2x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>
}

// -----

parplan.mesh @mesh <["c"=2 context]>

// Statistics that nothing reads are not made; the whole mask stays, that of a
// block goes round.
// CHECK-LABEL: exec.program @main
// CHECK: exec.attention %{{.*}}, %{{.*}}, %{{.*}} workspace %{{[0-9]+}} : !exec.buffer<{{[0-9]+}}xi8> into
// CHECK: exec.exchange
// CHECK: exec.exchange
// CHECK: exec.attention %{{.*}} mask %[[WHOLE:.*]] : !exec.buffer<2x4xi1> {{.*}} whole_mask
// CHECK: exec.attention accumulate %{{.*}} mask %[[WHOLE]] : !exec.buffer<2x4xi1> {{.*}} whole_mask
// CHECK: exec.exchange
// CHECK: exec.exchange
// CHECK: exec.exchange @c0 %[[KEYS:.*]] into %[[NEXT:.*]] send {{.*}} count 2 bytes 2 : <2xi1>, <2xi1>
// CHECK: exec.attention %{{.*}} mask %[[KEYS]] : !exec.buffer<2xi1>
// CHECK: exec.attention accumulate %{{.*}} mask %[[NEXT]] : !exec.buffer<2xi1>
func.func @main(%x: tensor<1x2x1x4xf32> {parplan.name = "x"}, %whole: tensor<2x4xi1> {parplan.name = "whole"}, %keys: tensor<2xi1> {parplan.name = "keys"})
    -> (tensor<1x2x1x4xf32> {parplan.name = "a"}, tensor<1x2x1x4xf32> {parplan.name = "b"}, tensor<1x2x1x4xf32> {parplan.name = "c"}) {
  %a, %l = parplan.attention %x, %x, %x scale 0.5 statistics : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>
  %b = parplan.ring_attention %x, %x, %x mask %whole : tensor<2x4xi1> axes <"c"> keys 4 scale 0.5 : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>
  %c = parplan.ring_attention %x, %x, %x mask %keys : tensor<2xi1> axes <"c"> keys 4 scale 0.5 : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>
  return %a, %b, %c : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>
}

// -----

parplan.mesh @mesh <["c"=2 context]>

// In zig-zag order the same statements, and arguments that a loader brings into
// that order.
// CHECK-LABEL: exec.program @main
// CHECK: exec.buffer input {{.*}} block <"x" dims [1 over <> stride 32, 8 over <"c"> stride 4 zigzag 2, 1 over <> stride 4, 4 over <> stride 1]>
// CHECK: exec.buffer output {{.*}} 8 over <"c"> stride 4 zigzag 2
// CHECK: exec.attention {{.*}} causal zigzag {
// CHECK-SAME: key_start = #exec.rank_value<start of 8 over <"c">>
// CHECK: exec.attention accumulate {{.*}} causal zigzag {
// CHECK-SAME: key_start = #exec.rank_value<start of 8 over <"c"> back 1>
// CHECK-SAME: query_start = #exec.rank_value<start of 8 over <"c">>
func.func @main(%x: tensor<1x4x1x4xf32> {parplan.name = "x", parplan.zigzag = array<i64: 1, 2, 1, 1>, parplan.global_type = tensor<1x8x1x4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>})
    -> (tensor<1x4x1x4xf32> {parplan.name = "y", parplan.zigzag = array<i64: 1, 2, 1, 1>, parplan.global_type = tensor<1x8x1x4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>}) {
  %start = parplan.block_start 8 axes <"c"> : tensor<i64>
  %y = parplan.ring_attention %x, %x, %x offset %start : tensor<i64> axes <"c"> keys 8 scale 0.5 causal zigzag : tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>
  return %y : tensor<1x4x1x4xf32>
}
