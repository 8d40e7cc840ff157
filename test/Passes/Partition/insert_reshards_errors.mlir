// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-insert-reshards

// expected-error@below {{partition needs exactly one parplan.mesh}}
module {
}

// -----

parplan.mesh @mesh <["x"=2 data]>
// expected-error@below {{argument 0 has no parplan.sharding}}
func.func @argument_without_sharding(%a: tensor<4xf32>) {
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
// expected-error@below {{result 0 has no parplan.sharding}}
func.func @result_without_sharding(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @op_without_factors(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{has no parplan.factors}}
  %b = parplan.neg %a : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @op_without_shardings(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{has no parplan.shardings}}
  %b = parplan.neg %a {parplan.factors = #parplan.factors<@mesh, {}>} : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @split_composite(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{S7: an axis lies on a coupled factor; parplan-decompose-split-composites comes first}}
  %b = parplan.softmax %a dim 0 {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>,
    parplan.shardings = [#parplan.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
parplan.initializer @w "w" : tensor<4xf32> in "" at 0 length 16
func.func @pending_parameter() {
  // expected-error@below {{S8: a parameter cannot be loaded pending}}
  %b = parplan.parameter @w {parplan.shardings = [#parplan.sharding<@mesh, [{}], partial = sum{"x"}>]} : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @op_without_rule(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{has no sharding rule}}
  %b = parplan.reshard %a to <@mesh, [{"x"}]> : tensor<4xf32>
  return
}
