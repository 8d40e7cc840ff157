// RUN: parplan-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(parplan-set-precision{type=bf16 rounds-weights})' | FileCheck %s

// CHECK: parplan.initializer @[[$W:w_.*]] "w" : tensor<4x4xbf16> in "" at 0 length 64
// CHECK: parplan.initializer @[[$E:e_.*]] "e" : tensor<2x4x4xbf16> of [@e0_{{[0-9]+}}, @e1_{{[0-9]+}}] in
parplan.initializer @w "w" : tensor<4x4xf32> in "" at 0 length 64
parplan.initializer @s "s" : tensor<4xf32> in "" at 80 length 16
parplan.initializer @e0 "e0" : tensor<4x4xf32> in "" at 96 length 64
parplan.initializer @e1 "e1" : tensor<4x4xf32> in "" at 160 length 64
parplan.initializer @e "e" : tensor<2x4x4xf32> of [@e0, @e1] in "" at 0 length 128

// Weights of products are read in the short type, those of norms as they are,
// and what both read in both. The result keeps its type.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> tensor<2x2x4xf32>
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x2x4xf32> {
  // CHECK-DAG: %[[WS:.*]] = parplan.parameter @[[$W]] : tensor<4x4xbf16>
  // CHECK: parplan.matmul "sk,kn->sn" %{{.*}}, %[[WS]] : tensor<2x4xbf16>, tensor<4x4xbf16>
  %w = parplan.parameter @w : tensor<4x4xf32>
  %y = parplan.matmul "sk,kn->sn" %x, %w : tensor<2x4xf32>, tensor<4x4xf32>
  // CHECK: %[[S:.*]] = parplan.parameter @s : tensor<4xf32>
  // CHECK: parplan.rms_norm %{{.*}} scale %[[S]]
  %s = parplan.parameter @s : tensor<4xf32>
  %n = parplan.rms_norm %y scale %s : tensor<4xf32> dim 1 epsilon 1.000000e-05 : tensor<2x4xf32>
  // CHECK: %[[ES:.*]] = parplan.parameter @[[$E]] : tensor<2x4x4xbf16>
  // CHECK: parplan.matmul "sk,ekn->esn" %{{.*}}, %[[ES]]
  // CHECK: parplan.cast %{{.*}} : tensor<2x2x4xbf16> to tensor<2x2x4xf32>
  %e = parplan.parameter @e : tensor<2x4x4xf32>
  %z = parplan.matmul "sk,ekn->esn" %n, %e : tensor<2x4xf32>, tensor<2x4x4xf32>
  return %z : tensor<2x2x4xf32>
}

// -----

// expected-error@+1 {{only models of f32 can be computed in a short type, but the parameter 'w' is 'f64'}}
parplan.initializer @w "w" : tensor<4xf64> in "" at 0 length 32
func.func @main(%x: tensor<4xf32>) -> tensor<4xf64> {
  %w = parplan.parameter @w : tensor<4xf64>
  return %w : tensor<4xf64>
}
