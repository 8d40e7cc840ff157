// RUN: parplan-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(parplan-set-precision{type=bf16})'

parplan.initializer @w "w" : tensor<3xf64> in "" at 0 length 24 {parplan.trained = "it is"}
// expected-error@-1 {{only models of f32 can be trained in a short type, but the parameter 'w' is 'f64'}}
// What is frozen, and labels and scalars, may have any type.
parplan.initializer @c "c" : tensor<3xf64> in "" at 24 length 24 {parplan.frozen = "it is"}
// expected-error@+1 {{only models of f32 can be trained in a short type, but the input 'x' is 'f64'}}
func.func @main(%x: tensor<3xf64> {parplan.name = "x"}, %ids: tensor<3xi64> {parplan.name = "ids"}, %labels: tensor<3xf64> {parplan.name = "labels"}, %scale: tensor<f64> {parplan.schedule = "loss_scale"}) -> tensor<3xf64> {
  %w = parplan.parameter @w : tensor<3xf64>
  %c = parplan.parameter @c : tensor<3xf64>
  %y = parplan.mul %x, %w : tensor<3xf64>, tensor<3xf64>
  %z = parplan.mul %y, %c : tensor<3xf64>, tensor<3xf64>
  return %z : tensor<3xf64>
}

// -----

// Integers have no precision.
func.func @main(%x: tensor<3xf32> {parplan.name = "x"}, %ids: tensor<3xi64> {parplan.name = "ids"}) -> tensor<3xf32> {
  %y = parplan.exp %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
