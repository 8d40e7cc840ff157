// RUN: parplan-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(parplan-set-batch{micro-batches=4 batch=2 is-forward})' | FileCheck %s

parplan.initializer @w "w" : tensor<3x3xf32> in "" at 0 length 36

// What depends on samples runs for every micro-batch; results say where their
// samples are, and what has none is made once.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32> {parplan.batch}, %[[M:.*]]: tensor<3x3xf32>)
// CHECK-SAME: -> (tensor<2x3xf32> {parplan.batch_dim = 0 : i64}, tensor<3x2xf32> {parplan.batch_dim = 1 : i64}, tensor<3x3xf32>, tensor<2x3xf32> {parplan.batch_dim = 0 : i64})
// CHECK-SAME: attributes {parplan.forward_only, parplan.micro_batches = 4 : i64}
func.func @main(%x: tensor<8x3xf32> {parplan.batch}, %m: tensor<3x3xf32>) -> (tensor<8x3xf32>, tensor<3x8xf32>, tensor<3x3xf32>, tensor<8x3xf32>) {
  %w = parplan.parameter @w : tensor<3x3xf32>
  // CHECK: parplan.add %{{.*}}, %[[M]] : tensor<3x3xf32>, tensor<3x3xf32>
  %a = parplan.add %w, %m : tensor<3x3xf32>, tensor<3x3xf32>
  // CHECK: parplan.matmul {{.*}} {parplan.per_micro_batch} : tensor<2x3xf32>
  %y = parplan.matmul "sk,kn->sn" %x, %a : tensor<8x3xf32>, tensor<3x3xf32>
  // CHECK: parplan.transpose {{.*}}parplan.per_micro_batch
  %t = parplan.transpose %y [1, 0] : tensor<8x3xf32>
  return %y, %t, %a, %x : tensor<8x3xf32>, tensor<3x8xf32>, tensor<3x3xf32>, tensor<8x3xf32>
}

// -----

func.func @main(%x: tensor<8x3xf32> {parplan.batch}) -> tensor<3xf32> {
  // expected-error@+1 {{mixes the samples of a batch, which are in several micro-batches}}
  %y = parplan.reduce sum %x dims [0] : tensor<8x3xf32>
  return %y : tensor<3xf32>
}

// -----

// expected-error@+1 {{no input of the model has a batch}}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
