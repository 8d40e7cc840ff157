// RUN: parplan-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(parplan-set-batch{micro-batches=4 batch=1 is-forward})' | FileCheck %s

// A fixed batch of one sample: its dimension is the first.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<1x3xf32> {parplan.batch_dim = 0 : i64}, tensor<1xf32>)
func.func @main(%x: tensor<1x3xf32> {parplan.batch}) -> (tensor<1x3xf32>, tensor<1xf32>) {
  %one = parplan.constant dense<1.0> : tensor<1xf32>
  %y = parplan.exp %x : tensor<1x3xf32>
  return %y, %one : tensor<1x3xf32>, tensor<1xf32>
}

// -----

func.func @main(%x: tensor<1x3xf32> {parplan.batch}) -> tensor<f32> {
  // expected-error@+1 {{makes an output without a dimension of samples, which are in several micro-batches}}
  %y = parplan.reduce sum %x dims [0, 1] : tensor<1x3xf32>
  return %y : tensor<f32>
}
