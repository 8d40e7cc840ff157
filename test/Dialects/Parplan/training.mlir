// RUN: parplan-opt %s | parplan-opt | FileCheck %s

parplan.mesh @mesh <["dp0"=2 data, "tp0"=2 tensor]>
parplan.initializer @w "w" : tensor<4x4xf16> in "" at 0 length 32

// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<2x3xf32>) {
  // CHECK: parplan.accumulate %{{.*}} {parplan.role = "gradient_sum"} : tensor<2x3xf32>
  %a = parplan.accumulate %x {parplan.role = "gradient_sum"} : tensor<2x3xf32>
  // CHECK: parplan.sum %{{.*}}, %{{.*}}, %{{.*}} {parplan.group = 3 : i64, parplan.per_micro_batch} : tensor<2x3xf32>
  %s = parplan.sum %x, %x, %x {parplan.per_micro_batch, parplan.group = 3 : i64} : tensor<2x3xf32>
  // CHECK: parplan.square_sum %{{.*}} {parplan.factors = #parplan.factors<@mesh, {d0 = ["tp0"]}, stored = {"dp0"}>} : tensor<2x3xf32>
  %n = parplan.square_sum %a {parplan.factors = #parplan.factors<@mesh, {d0 = ["tp0"]}, stored = {"dp0"}>} : tensor<2x3xf32>
  // CHECK: parplan.neg %{{.*}} : tensor<f64>
  parplan.neg %n : tensor<f64>
  return
}

// CHECK-LABEL: func.func @step
// CHECK-SAME: %{{.*}}: tensor<f32> {parplan.schedule = "learning_rate"}
// CHECK-SAME: {parplan.sharding = #parplan.sharding<@mesh, [{}, {}], stored = {"dp0"}>, parplan.variable = #parplan.variable<@w, view = <offset = 0, strides = [4, 1]>>}
// CHECK-SAME: {parplan.variable = #parplan.variable<@w, slot = "exp_avg">}
// CHECK-SAME: {parplan.variable = #parplan.variable<@w>}
// CHECK-SAME: attributes {parplan.micro_batches = 4 : i64}
func.func @step(%g: tensor<4x4xf32>, %rate: tensor<f32> {parplan.schedule = "learning_rate"}, %skip: tensor<i1>)
    -> (tensor<4x4xf32> {parplan.variable = #parplan.variable<@w, view = <offset = 0, strides = [4, 1]>>, parplan.sharding = #parplan.sharding<@mesh, [{}, {}], stored = {"dp0"}>},
        tensor<4x4xf32> {parplan.variable = #parplan.variable<@w, slot = "exp_avg">},
        tensor<4x4xf32> {parplan.variable = #parplan.variable<@w>})
    attributes {parplan.micro_batches = 4 : i64} {
  // CHECK: parplan.parameter @w slot "exp_avg" : tensor<4x4xf32>
  %m = parplan.parameter @w slot "exp_avg" : tensor<4x4xf32>
  // CHECK: parplan.parameter @w slot "master" view <offset = 0, strides = [1, 4]> : tensor<4x4xf32>
  %p = parplan.parameter @w slot "master" view <offset = 0, strides = [1, 4]> : tensor<4x4xf32>
  // CHECK: parplan.optimizer_update sgd %{{.*}}, %{{.*}} learning_rate %{{.*}} betas 0.000000e+00, 0.000000e+00 epsilon 0.000000e+00 weight_decay 0.000000e+00 momentum 0.000000e+00 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
  %sgd = parplan.optimizer_update sgd %p, %g learning_rate %rate betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.0 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
  // CHECK: parplan.optimizer_update momentum %{{.*}}, %{{.*}} states %{{.*}} learning_rate %{{.*}} scale %{{.*}} skip %{{.*}} betas
  %mo:2 = parplan.optimizer_update momentum %p, %g states %m learning_rate %rate scale %rate skip %skip betas 0.0, 0.0 epsilon 0.0 weight_decay 0.0 momentum 0.9 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>, tensor<f32>, tensor<i1>
  // CHECK: parplan.optimizer_update adamw %{{.*}}, %{{.*}} states %{{.*}}, %{{.*}} learning_rate %{{.*}} step_size %{{.*}} bias_correction2_sqrt %{{.*}} betas
  %ad:3 = parplan.optimizer_update adamw %p, %g states %m, %m learning_rate %rate step_size %rate bias_correction2_sqrt %rate betas 0.9, 0.999 epsilon 1.0e-8 weight_decay 0.01 momentum 0.0
    : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>
  return %sgd, %mo#1, %ad#0 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func.func @loss
func.func @loss(%x: tensor<2x3x7xbf16>, %labels: tensor<2x3xi32>) -> tensor<2x3xf32> {
  // CHECK: parplan.cross_entropy %{{.*}}, %{{.*}} {parplan.role = "loss"} : tensor<2x3x7xbf16>, tensor<2x3xi32>
  %loss, %lse = parplan.cross_entropy %x, %labels {parplan.role = "loss"} : tensor<2x3x7xbf16>, tensor<2x3xi32>
  return %loss : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @adjoints
func.func @adjoints(%ids: tensor<2x3xi64>, %g: tensor<2x3x4xf32>, %i: tensor<2x3xf32>) {
  // CHECK: parplan.embedding_gradient %{{.*}}, %{{.*}} : tensor<2x3xi64>, tensor<2x3x4xf32> to tensor<7x4xf32>
  parplan.embedding_gradient %ids, %g : tensor<2x3xi64>, tensor<2x3x4xf32> to tensor<7x4xf32>
  // CHECK: parplan.gather_gradient %{{.*}}, %{{.*}} dim 0 : tensor<2x3x4xf32>, tensor<2x3xi64> to tensor<7x4xf32>
  parplan.gather_gradient %g, %ids dim 0 : tensor<2x3x4xf32>, tensor<2x3xi64> to tensor<7x4xf32>
  // CHECK: parplan.gather_elements_gradient %{{.*}}, %{{.*}} dim 0 : tensor<2x3xf32>, tensor<2x3xi64> to tensor<7x3xf32>
  parplan.gather_elements_gradient %i, %ids dim 0 : tensor<2x3xf32>, tensor<2x3xi64> to tensor<7x3xf32>
  return
}

// CHECK-LABEL: func.func @more_adjoints
func.func @more_adjoints(%g: tensor<2x4xf32>, %pairs: tensor<2x2xi64>, %x: tensor<2x8x9xf32>, %w: tensor<6x4x3xf32>, %y: tensor<2x6x4xf32>, %p: tensor<2x8x4xf32>) {
  // CHECK: parplan.gather_nd_gradient %{{.*}}, %{{.*}} batch_dims 0 : tensor<2x4xf32>, tensor<2x2xi64> to tensor<5x7x4xf32>
  parplan.gather_nd_gradient %g, %pairs batch_dims 0 : tensor<2x4xf32>, tensor<2x2xi64> to tensor<5x7x4xf32>
  // CHECK: parplan.conv_input_gradient %{{.*}}, %{{.*}} strides [2] pads [1, 0] dilations [1] groups 2 : tensor<2x6x4xf32>, tensor<6x4x3xf32> to tensor<2x8x9xf32>
  parplan.conv_input_gradient %y, %w strides [2] pads [1, 0] dilations [1] groups 2 : tensor<2x6x4xf32>, tensor<6x4x3xf32> to tensor<2x8x9xf32>
  // CHECK: parplan.conv_weight_gradient %{{.*}}, %{{.*}} strides [2] pads [1, 0] dilations [1] groups 2 : tensor<2x8x9xf32>, tensor<2x6x4xf32> to tensor<6x4x3xf32>
  parplan.conv_weight_gradient %x, %y strides [2] pads [1, 0] dilations [1] groups 2 : tensor<2x8x9xf32>, tensor<2x6x4xf32> to tensor<6x4x3xf32>
  // CHECK: parplan.max_pool_gradient %{{.*}}, %{{.*}} window [2] strides [2] pads [0, 0] dilations [1] : tensor<2x8x9xf32>, tensor<2x8x4xf32>
  parplan.max_pool_gradient %x, %p window [2] strides [2] pads [0, 0] dilations [1] : tensor<2x8x9xf32>, tensor<2x8x4xf32>
  // CHECK: parplan.average_pool_gradient %{{.*}} window [2] strides [2] pads [0, 0] dilations [1] {count_include_pad} : tensor<2x8x4xf32> to tensor<2x8x9xf32>
  parplan.average_pool_gradient %p window [2] strides [2] pads [0, 0] dilations [1] {count_include_pad} : tensor<2x8x4xf32> to tensor<2x8x9xf32>
  return
}
