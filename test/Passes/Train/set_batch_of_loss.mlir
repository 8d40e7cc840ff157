// RUN: parplan-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(parplan-set-batch{micro-batches=2 is-loss})' | FileCheck %s

// A loss of the model may be reduced over the batch, which stays.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<8x3xf32>
// CHECK-SAME: parplan.micro_batches = 2
func.func @main(%x: tensor<8x3xf32> {parplan.batch}) -> tensor<f32> {
  %y = parplan.reduce sum %x dims [0, 1] : tensor<8x3xf32>
  return %y : tensor<f32>
}

// -----

func.func @main(%x: tensor<8x3xf32> {parplan.batch}) -> tensor<f32> {
  // expected-error@+1 {{mixes the samples of a batch, which are in several micro-batches}}
  %m = parplan.reduce max %x dims [0] : tensor<8x3xf32>
  %d = parplan.sub %x, %m : tensor<8x3xf32>, tensor<3xf32>
  %y = parplan.reduce sum %d dims [0, 1] : tensor<8x3xf32>
  return %y : tensor<f32>
}

// -----

// expected-error@+1 {{no input of the model has a batch, so that a loss of the model has no samples}}
func.func @main(%x: tensor<8x3xf32>) -> tensor<f32> {
  %y = parplan.reduce sum %x dims [0, 1] : tensor<8x3xf32>
  return %y : tensor<f32>
}
