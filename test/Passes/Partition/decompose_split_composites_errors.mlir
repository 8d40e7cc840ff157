// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-decompose-split-composites

parplan.mesh @mesh <["x"=2 data]>
func.func @op_without_factors(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{has no parplan.factors}}
  %b = parplan.softmax %a dim 0 : tensor<4xf32>
  return
}

// -----

parplan.mesh @mesh <["x"=2 data]>
func.func @composite_without_shardings(%a: tensor<4xf32> {parplan.sharding = #parplan.sharding<@mesh, [{}]>}) {
  // expected-error@below {{has no parplan.shardings}}
  %b = parplan.softmax %a dim 0 {parplan.factors = #parplan.factors<@mesh, {d0 = ["x"]}>} : tensor<4xf32>
  return
}
