// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-localize

parplan.mesh @mesh <["x"=2 data]>
func.func @implicit_step(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{S7: operand 0 lies in [{}], not in [{x}]}}
  %b = parplan.neg %a {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}]>]} : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @forgotten_reduction(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>}) {
  %b = parplan.reduce sum %a dims [0] {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [], partial = sum{"x"}>]} : tensor<4xf32>
  // expected-error@below {{S8: operand 0 lies in [] partial=sum{x}, not in []}}
  %c = parplan.exp %b {parplan.factors = #parplan.factors<@mesh, {}>,
    parplan.shardings = [#parplan.sharding<@mesh, []>]} : tensor<f32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @result_is_not_as_made(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{S7: result 0 lies in [{x}], not in [{}]}}
  %b = parplan.neg %a {parplan.factors = #parplan.factors<@mesh, {}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}]>]} : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @returned_elsewhere(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>}) {
  // expected-error@below {{S7: operand 0 lies in [{}], not in [{x}]}}
  return %a : tensor<4xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @reshard_is_left(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{is left; parplan-reshards-to-collectives comes first}}
  %b = parplan.reshard %a to <@mesh, [{"x"}]> : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @split_composite(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{"x"}]>}) {
  // expected-error@below {{S7: an axis lies on a coupled factor}}
  %b = parplan.softmax %a dim 0 {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{"x"}]>]} : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @constant_that_differs_between_ranks() {
  // expected-error@below {{differs between ranks: a constant that is no splat is made whole and then cut}}
  %a = parplan.constant {parplan.shardings = [#parplan.sharding<@mesh, [{"x"}]>]} dense<[1.0, 2.0]> : tensor<2xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @local_already(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{cannot be localised}}
  %b = parplan.block_start 4 axes <"x"> : tensor<i64>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @order_without_a_ring(%x: tensor<1x4x1x2xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {}, {}, {}]>}) {
  // expected-error@below {{S22: lies in zig-zag order, but is no ring}}
  parplan.attention %x, %x, %x scale 1.0 causal zigzag 2 {parplan.factors = #parplan.factors<@mesh, {}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {}, {}, {}]>]}
    : tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>
  return
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @order_of_another_ring(%x: tensor<1x8x1x2xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>}) {
  // expected-error@below {{S22: lies in zig-zag order over 4 ranks, but goes round others}}
  parplan.attention %x, %x, %x scale 1.0 causal zigzag 4 {parplan.factors = #parplan.factors<@mesh, {s = ["c"]}, panels = {t = ["c"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}, {"c"}, {}, {}]>]}
    : tensor<1x8x1x2xf32>, tensor<1x8x1x2xf32>, tensor<1x8x1x2xf32>
  return
}
