// RUN: parplan-opt %s -parplan-raise | FileCheck %s

parplan.initializer @scale "scale" : tensor<1x1x8xf32> in "" at 0 length 32
parplan.initializer @bias "bias" : tensor<8xf32> in "" at 32 length 32

// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(%x: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  // CHECK-DAG: %[[S:.*]] = parplan.parameter @scale view <offset = 0, strides = [1]> : tensor<8xf32>
  // CHECK-DAG: %[[B:.*]] = parplan.parameter @bias : tensor<8xf32>
  %scale = parplan.parameter @scale : tensor<1x1x8xf32>
  %bias = parplan.parameter @bias : tensor<8xf32>
  %eighth = parplan.constant dense<0.125> : tensor<f32>
  %epsilon = parplan.constant dense<1.0e-5> : tensor<f32>
  %two = parplan.constant dense<2.0> : tensor<f32>
  %sum = parplan.reduce sum %x dims [2] keep_dims : tensor<2x3x8xf32>
  %mean = parplan.mul %sum, %eighth : tensor<2x3x1xf32>, tensor<f32>
  %centered = parplan.sub %x, %mean : tensor<2x3x8xf32>, tensor<2x3x1xf32>
  %square = parplan.pow %centered, %two : tensor<2x3x8xf32>, tensor<f32>
  %sum2 = parplan.reduce sum %square dims [2] keep_dims : tensor<2x3x8xf32>
  %variance = parplan.mul %sum2, %eighth : tensor<2x3x1xf32>, tensor<f32>
  %shifted = parplan.add %variance, %epsilon : tensor<2x3x1xf32>, tensor<f32>
  %deviation = parplan.sqrt %shifted : tensor<2x3x1xf32>
  %n = parplan.div %centered, %deviation : tensor<2x3x8xf32>, tensor<2x3x1xf32>
  %m = parplan.mul %n, %scale : tensor<2x3x8xf32>, tensor<1x1x8xf32>
  // CHECK: %[[Y:.*]] = parplan.layer_norm %arg0 scale %[[S]] : tensor<8xf32> bias %[[B]] : tensor<8xf32> dim 2 epsilon {{.*}} {parplan.onnx_op = "LayerNormalization"} : tensor<2x3x8xf32>
  // CHECK-NEXT: return %[[Y]]
  %y = parplan.add %m, %bias : tensor<2x3x8xf32>, tensor<8xf32>
  return %y : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  // CHECK: %[[W:.*]] = parplan.parameter @bias
  %weight = parplan.parameter @bias : tensor<8xf32>
  %eighth = parplan.constant dense<0.125> : tensor<f32>
  %epsilon = parplan.constant dense<1.0e-5> : tensor<f32>
  %two = parplan.constant dense<2.0> : tensor<f32>
  %square = parplan.pow %x, %two : tensor<2x3x8xf32>, tensor<f32>
  %sum = parplan.reduce sum %square dims [2] keep_dims : tensor<2x3x8xf32>
  %mean = parplan.mul %sum, %eighth : tensor<2x3x1xf32>, tensor<f32>
  %shifted = parplan.add %mean, %epsilon : tensor<2x3x1xf32>, tensor<f32>
  %root = parplan.sqrt %shifted : tensor<2x3x1xf32>
  %inverse = parplan.reciprocal %root : tensor<2x3x1xf32>
  %n = parplan.mul %x, %inverse : tensor<2x3x8xf32>, tensor<2x3x1xf32>
  // CHECK-NEXT: %[[Y:.*]] = parplan.rms_norm %arg0 scale %[[W]] : tensor<8xf32> dim 2
  // CHECK-NEXT: return %[[Y]]
  %y = parplan.mul %weight, %n : tensor<8xf32>, tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// 1/(n-1): a sample's variance.
// CHECK-LABEL: func.func @mean_of_another_count
func.func @mean_of_another_count(%x: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %third = parplan.constant dense<0.142857149> : tensor<f32>
  %epsilon = parplan.constant dense<1.0e-5> : tensor<f32>
  %square = parplan.mul %x, %x : tensor<2x3x8xf32>, tensor<2x3x8xf32>
  %sum = parplan.reduce sum %square dims [2] keep_dims : tensor<2x3x8xf32>
  %mean = parplan.mul %sum, %third : tensor<2x3x1xf32>, tensor<f32>
  %shifted = parplan.add %mean, %epsilon : tensor<2x3x1xf32>, tensor<f32>
  %inverse = parplan.rsqrt %shifted : tensor<2x3x1xf32>
  // CHECK-NOT: parplan.rms_norm
  %y = parplan.mul %x, %inverse : tensor<2x3x8xf32>, tensor<2x3x1xf32>
  return %y : tensor<2x3x8xf32>
}
