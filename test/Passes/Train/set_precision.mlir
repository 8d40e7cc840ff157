// RUN: parplan-opt %s -pass-pipeline='builtin.module(parplan-set-precision{type=bf16})' | FileCheck %s

parplan.initializer @w "w" : tensor<4x4xf32> in "" at 0 length 64
parplan.initializer @b "b" : tensor<4xf32> in "" at 64 length 16
parplan.initializer @s "s" : tensor<4xf32> in "" at 80 length 16
parplan.initializer @e "e" : tensor<3x4x4xf32> in "" at 96 length 192

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<2x4xf32>, %[[I:[a-z0-9]+]]: tensor<2xi64>, %[[L:[a-z0-9]+]]: tensor<2xi64>) -> tensor<2xf32>
func.func @main(%x: tensor<2x4xf32>, %ids: tensor<2xi64>, %labels: tensor<2xi64>) -> tensor<2xf32> {
  // CHECK-DAG: %[[XL:.*]] = parplan.cast %[[X]] : tensor<2x4xf32> to tensor<2x4xbf16>
  // CHECK-DAG: %[[W:.*]] = parplan.parameter @w : tensor<4x4xf32>
  // CHECK-DAG: %[[WL:.*]] = parplan.cast %[[W]] : tensor<4x4xf32> to tensor<4x4xbf16>
  // CHECK: %[[Y:.*]] = parplan.matmul "sk,kn->sn" %[[XL]], %[[WL]] : tensor<2x4xbf16>, tensor<4x4xbf16>
  %w = parplan.parameter @w : tensor<4x4xf32>
  %y = parplan.matmul "sk,kn->sn" %x, %w : tensor<2x4xf32>, tensor<4x4xf32>
  // CHECK: %[[B:.*]] = parplan.parameter @b
  // CHECK: %[[BL:.*]] = parplan.cast %[[B]]
  // CHECK: %[[H:.*]] = parplan.add %[[Y]], %[[BL]] : tensor<2x4xbf16>, tensor<4xbf16>
  %b = parplan.parameter @b : tensor<4xf32>
  %h = parplan.add %y, %b : tensor<2x4xf32>, tensor<4xf32>
  // CHECK: %[[TWO:.*]] = parplan.constant dense<2.000000e+00> : tensor<bf16>
  // CHECK: %[[M:.*]] = parplan.mul %[[H]], %[[TWO]]
  // CHECK: %[[HF:.*]] = parplan.cast %[[M]] : tensor<2x4xbf16> to tensor<2x4xf32>
  // CHECK: %[[S:.*]] = parplan.parameter @s
  // CHECK: %[[N:.*]] = parplan.rms_norm %[[HF]] scale %[[S]] : tensor<4xf32>
  // CHECK: %[[NL:.*]] = parplan.cast %[[N]] : tensor<2x4xf32> to tensor<2x4xbf16>
  %two = parplan.constant dense<2.0> : tensor<f32>
  %m = parplan.mul %h, %two : tensor<2x4xf32>, tensor<f32>
  %s = parplan.parameter @s : tensor<4xf32>
  %n = parplan.rms_norm %m scale %s : tensor<4xf32> dim 1 epsilon 1.000000e-05 : tensor<2x4xf32>
  // Weights are cast before they are looked up.
  // CHECK: %[[E:.*]] = parplan.parameter @e
  // CHECK: %[[EL:.*]] = parplan.cast %[[E]] : tensor<3x4x4xf32> to tensor<3x4x4xbf16>
  // CHECK: %[[G:.*]] = parplan.gather %[[EL]], %[[I]] dim 0
  // CHECK: %[[Z:.*]] = parplan.matmul "sk,skn->sn" %[[NL]], %[[G]]
  %e = parplan.parameter @e : tensor<3x4x4xf32>
  %g = parplan.gather %e, %ids dim 0 : tensor<3x4x4xf32>, tensor<2xi64>
  %z = parplan.matmul "sk,skn->sn" %n, %g : tensor<2x4xf32>, tensor<2x4x4xf32>
  // CHECK: %[[ZF:.*]] = parplan.cast %[[Z]] : tensor<2x4xbf16> to tensor<2x4xf32>
  // CHECK: %[[P:.*]] = parplan.softmax %[[ZF]] dim 1 : tensor<2x4xf32>
  // CHECK: parplan.cross_entropy %[[P]], %[[L]]
  %p = parplan.softmax %z dim 1 : tensor<2x4xf32>
  %loss, %lse = parplan.cross_entropy %p, %labels {parplan.role = "loss"} : tensor<2x4xf32>, tensor<2xi64>
  return %loss : tensor<2xf32>
}
