// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-verify-local

parplan.mesh @mesh <["c"=2 context, "d"=2 context]>
func.func @key_of_another_ring(
    %q: tensor<1x4x1x4xf32> {parplan.global_type = tensor<1x4x1x4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {}, {}]>},
    %k: tensor<1x2x1x4xf32> {parplan.global_type = tensor<1x4x1x4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {"d"}, {}, {}]>}) {
  // expected-error@below {{after partition: S21: the key lies in [{}, {d}, {}, {}], its keys not split by #parplan.axes<"c">}}
  %y = parplan.ring_attention %q, %k, %k axes <"c"> keys 4 scale 0.5 {
    parplan.global_type = tensor<1x4x1x4xf32>, parplan.shardings = [#parplan.sharding<@mesh, [{}, {}, {}, {}]>]}
    : tensor<1x4x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context, "d"=2 context]>
func.func @gradient_of_another_ring(
    %q: tensor<1x4x1x4xf32> {parplan.global_type = tensor<1x4x1x4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {}, {}]>},
    %l: tensor<1x1x4xf32> {parplan.global_type = tensor<1x1x4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {}]>},
    %k: tensor<1x2x1x4xf32> {parplan.global_type = tensor<1x4x1x4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>}) {
  // expected-error@below {{after partition: S21: the value's gradient lies in [{}, {d}, {}, {}], its keys not split by #parplan.axes<"c">}}
  %dq, %dk, %dv = parplan.ring_attention_gradient %q, %k, %k result %q, %l gradient %q axes <"c"> keys 4 scale 0.5 {
    parplan.global_type = tensor<1x4x1x4xf32>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}, {}, {}]>, #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>, #parplan.sharding<@mesh, [{}, {"d"}, {}, {}]>]}
    : tensor<1x4x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x4x1x4xf32>, tensor<1x1x4xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @ring_of_no_tensor(
    %q: tensor<1x2x1x4xf32> {parplan.global_type = tensor<1x4x1x4xf32>, parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>}) {
  // expected-error@below {{after partition: no parplan.global_type}}
  %y = parplan.ring_attention %q, %q, %q axes <"c"> keys 4 scale 0.5
    : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>
  return
}
