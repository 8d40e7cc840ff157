// RUN: parplan-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(parplan-add-optimizer{kind=momentum})' | FileCheck %s

// A step whose scaled gradients overflow changes nothing.
parplan.initializer @w "w" : tensor<3xf32> in "" at 0 length 12 {parplan.trained = "it is"}
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[INVERSE:[a-z0-9]+]]: tensor<f32> {parplan.schedule = "inverse_loss_scale"}, %[[RATE:[a-z0-9]+]]: tensor<f32> {parplan.schedule = "learning_rate"})
// CHECK-SAME: tensor<f32> {parplan.name = "gradient_norm"}, tensor<i1> {parplan.name = "overflow"}
func.func @main(%x: tensor<3xf32> {parplan.batch}, %s: tensor<f32> {parplan.schedule = "loss_scale"}) -> (tensor<f32> {parplan.name = "loss"}, tensor<3xf32> {parplan.variable = #parplan.variable<@w>}) attributes {parplan.micro_batches = 1 : i64} {
  %w = parplan.parameter @w : tensor<3xf32>
  %g = parplan.accumulate %x : tensor<3xf32>
  // CHECK: %[[ROOT:.*]] = parplan.sqrt
  // CHECK: %[[SCALED:.*]] = parplan.cast %[[ROOT]]
  // CHECK: %[[NORM:.*]] = parplan.mul %[[SCALED]], %[[INVERSE]]
  // CHECK: %[[NAN:.*]] = parplan.is_nan %[[NORM]]
  // CHECK: %[[INF:.*]] = parplan.is_inf %[[NORM]]
  // CHECK: %[[SKIP:.*]] = parplan.or %[[NAN]], %[[INF]]
  // CHECK: parplan.optimizer_update momentum {{.*}} learning_rate %[[RATE]] scale %[[INVERSE]] skip %[[SKIP]]
  // CHECK: return %{{.*}}, %[[NORM]], %[[SKIP]],
  return %s, %g : tensor<f32>, tensor<3xf32>
}

// -----

parplan.initializer @w "w" : tensor<3xf32> in "" at 0 length 12
// expected-error@+1 {{nothing reads the variable #parplan.variable<@w>}}
func.func @main(%s: tensor<f32>, %x: tensor<3xf32>) -> (tensor<f32> {parplan.name = "loss"}, tensor<3xf32> {parplan.variable = #parplan.variable<@w>}) {
  return %s, %x : tensor<f32>, tensor<3xf32>
}

// -----

// expected-error@+1 {{an update needs a loss and gradients}}
func.func @main(%s: tensor<f32>) -> (tensor<f32> {parplan.name = "loss"}) {
  return %s : tensor<f32>
}
