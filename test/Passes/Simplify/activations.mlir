// RUN: parplan-opt %s -parplan-raise | FileCheck %s

// CHECK-LABEL: func.func @silu
func.func @silu(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %s = parplan.sigmoid %x : tensor<2x8xf32>
  // CHECK: %[[Y:.*]] = parplan.silu %arg0 {parplan.node = 3 : i64, parplan.onnx_op = "Mul"} : tensor<2x8xf32>
  // CHECK-NEXT: return %[[Y]]
  %y = parplan.mul %x, %s {parplan.node = 3 : i64, parplan.onnx_op = "Mul"} : tensor<2x8xf32>, tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @gelu_erf
func.func @gelu_erf(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %root = parplan.constant dense<1.41421354> : tensor<f32>
  %one = parplan.constant dense<1.0> : tensor<f32>
  %half = parplan.constant dense<0.5> : tensor<f32>
  %u = parplan.div %x, %root : tensor<2x8xf32>, tensor<f32>
  %e = parplan.erf %u : tensor<2x8xf32>
  %p = parplan.add %e, %one : tensor<2x8xf32>, tensor<f32>
  %h = parplan.mul %half, %p : tensor<f32>, tensor<2x8xf32>
  // CHECK-NEXT: %[[Y:.*]] = parplan.gelu %arg0 {parplan.onnx_op = "Gelu"} : tensor<2x8xf32>
  // CHECK-NEXT: return %[[Y]]
  %y = parplan.mul %x, %h : tensor<2x8xf32>, tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @gelu_tanh
func.func @gelu_tanh(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %half = parplan.constant dense<0.5> : tensor<f32>
  %three = parplan.constant dense<3.0> : tensor<f32>
  %cubic = parplan.constant dense<0.044714998> : tensor<f32>
  %root = parplan.constant dense<0.797884583> : tensor<f32>
  %one = parplan.constant dense<1.0> : tensor<f32>
  %h = parplan.mul %x, %half : tensor<2x8xf32>, tensor<f32>
  %p = parplan.pow %x, %three : tensor<2x8xf32>, tensor<f32>
  %c = parplan.mul %p, %cubic : tensor<2x8xf32>, tensor<f32>
  %s = parplan.add %x, %c : tensor<2x8xf32>, tensor<2x8xf32>
  %u = parplan.mul %s, %root : tensor<2x8xf32>, tensor<f32>
  %t = parplan.tanh %u : tensor<2x8xf32>
  %o = parplan.add %t, %one : tensor<2x8xf32>, tensor<f32>
  // CHECK-NEXT: %[[Y:.*]] = parplan.gelu tanh %arg0
  // CHECK-NEXT: return %[[Y]]
  %y = parplan.mul %h, %o : tensor<2x8xf32>, tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @another_number
func.func @another_number(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %root = parplan.constant dense<1.5> : tensor<f32>
  %one = parplan.constant dense<1.0> : tensor<f32>
  %half = parplan.constant dense<0.5> : tensor<f32>
  %u = parplan.div %x, %root : tensor<2x8xf32>, tensor<f32>
  // CHECK: parplan.erf
  %e = parplan.erf %u : tensor<2x8xf32>
  %p = parplan.add %e, %one : tensor<2x8xf32>, tensor<f32>
  %h = parplan.mul %half, %p : tensor<f32>, tensor<2x8xf32>
  // CHECK-NOT: parplan.gelu
  %y = parplan.mul %x, %h : tensor<2x8xf32>, tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
