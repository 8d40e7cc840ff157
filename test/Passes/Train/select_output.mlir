// RUN: parplan-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(parplan-select-output{output=logits})' | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<4x3xf32> {parplan.name = "logits"})
func.func @main(%x: tensor<4x3xf32>) -> (tensor<4x3xf32> {parplan.name = "hidden"}, tensor<4x3xf32> {parplan.name = "logits"}) {
  // CHECK-NEXT: %[[LOGITS:.*]] = parplan.relu
  // CHECK-NEXT: return %[[LOGITS]]
  %hidden = parplan.exp %x : tensor<4x3xf32>
  %logits = parplan.relu %x : tensor<4x3xf32>
  return %hidden, %logits : tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// expected-error@+1 {{the model has no output 'logits'; it has 'hidden', 'scores'}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {parplan.name = "hidden"}, tensor<4xf32> {parplan.name = "scores"}) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error@+1 {{the output 'logits' has elements of type 'i64': a loss needs floats}}
func.func @main(%x: tensor<4xi64>) -> (tensor<4xi64> {parplan.name = "logits"}) {
  return %x : tensor<4xi64>
}

// -----

// expected-error@+1 {{training needs a function @main}}
module {
}
