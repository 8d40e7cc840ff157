// RUN: parplan-opt %s -pass-pipeline='builtin.module(parplan-add-optimizer{kind=adamw beta2=0.95 weight-decay=0.1 clip-norm=0.5})' | FileCheck %s
// RUN: parplan-opt %s -pass-pipeline='builtin.module(parplan-add-optimizer{kind=sgd})' | FileCheck %s --check-prefix=SGD

parplan.initializer @w "w" : tensor<6xf32> in "" at 0 length 24 {parplan.trained = "it is"}

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%{{.*}}: tensor<3xf32> {parplan.batch}, %[[RATE:[a-z0-9]+]]: tensor<f32> {parplan.schedule = "learning_rate"}, %[[STEP:[a-z0-9]+]]: tensor<f32> {parplan.schedule = "step_size"}, %[[CORRECTION:[a-z0-9]+]]: tensor<f32> {parplan.schedule = "bias_correction2_sqrt"})
// CHECK-SAME: -> (tensor<f32> {parplan.name = "loss"}, tensor<f32> {parplan.name = "gradient_norm"},
// CHECK-SAME: tensor<3xf32> {parplan.variable = #parplan.variable<@w, view = <offset = 3, strides = [1]>>},
// CHECK-SAME: tensor<3xf32> {parplan.variable = #parplan.variable<@w, slot = "exp_avg", view = <offset = 3, strides = [1]>>},
// CHECK-SAME: tensor<3xf32> {parplan.variable = #parplan.variable<@w, slot = "exp_avg_sq", view = <offset = 3, strides = [1]>>})
// SGD-LABEL: func.func @main
// SGD-SAME: (%{{.*}}: tensor<3xf32> {parplan.batch}, %{{.*}}: tensor<f32> {parplan.schedule = "learning_rate"})
// SGD-SAME: -> (tensor<f32> {parplan.name = "loss"}, tensor<3xf32> {parplan.variable = #parplan.variable<@w, view = <offset = 3, strides = [1]>>})
func.func @main(%x: tensor<3xf32> {parplan.batch}) -> (tensor<f32> {parplan.name = "loss"}, tensor<3xf32> {parplan.variable = #parplan.variable<@w, view = <offset = 3, strides = [1]>>}) attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[W:.*]] = parplan.parameter @w view
  %w = parplan.parameter @w view <offset = 3, strides = [1]> : tensor<3xf32>
  %y = parplan.reduce sum %x dims [0] {parplan.group = 6 : i64, parplan.per_micro_batch} : tensor<3xf32>
  %loss = parplan.accumulate %y {parplan.group = 7 : i64} : tensor<f32>
  // CHECK: %[[G:.*]] = parplan.accumulate %arg0
  %g = parplan.accumulate %x {parplan.role = "gradient_sum"} : tensor<3xf32>
  // CHECK: %[[SQUARE:.*]] = parplan.square_sum %[[G]] {parplan.group = 8 : i64, parplan.role = "optimizer"}
  // CHECK: %[[SUM:.*]] = parplan.sum %[[SQUARE]] {parplan.role = "optimizer"}
  // In f64 up to the root.
  // CHECK: %[[ROOT:.*]] = parplan.sqrt %[[SUM]] {{.*}}tensor<f64>
  // CHECK: %[[NORM:.*]] = parplan.cast %[[ROOT]]
  // CHECK: %[[EPSILON:.*]] = parplan.constant {{.*}}dense<9.99999997E-7>
  // CHECK: %[[DIVISOR:.*]] = parplan.add %[[NORM]], %[[EPSILON]]
  // CHECK: %[[RATIO:.*]] = parplan.div %{{.*}}, %[[DIVISOR]]
  // CHECK: %[[SCALE:.*]] = parplan.min %[[RATIO]],
  // CHECK: %[[M:.*]] = parplan.parameter @w slot "exp_avg" view <offset = 3, strides = [1]> {parplan.role = "optimizer"} : tensor<3xf32>
  // CHECK: %[[V:.*]] = parplan.parameter @w slot "exp_avg_sq" view
  // CHECK: parplan.optimizer_update adamw %[[W]], %[[G]] states %[[M]], %[[V]] learning_rate %[[RATE]] step_size %[[STEP]] bias_correction2_sqrt %[[CORRECTION]] scale %[[SCALE]] betas 9.{{.*}} epsilon 1.{{.*}} weight_decay 1.{{.*}} {parplan.group = 8 : i64, parplan.role = "optimizer"}
  // SGD-NOT: square_sum
  // SGD: parplan.optimizer_update sgd
  return %loss, %g : tensor<f32>, tensor<3xf32>
}
