// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-add-loss | FileCheck %s

// The mean divides by the count of labels of the whole step.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<4x3x5xf32> {parplan.batch, parplan.name = "x"}, %[[LABELS:[a-z0-9]+]]: tensor<4x3xi64> {parplan.batch, parplan.name = "labels"}) -> (tensor<f32> {parplan.name = "loss"})
func.func @main(%x: tensor<4x3x5xf32> {parplan.batch, parplan.name = "x"}) -> (tensor<4x3x5xf32> {parplan.name = "logits"}) attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[LOSS:.*]], %{{.*}} = parplan.cross_entropy %[[X]], %[[LABELS]] {parplan.role = "loss"}
  // CHECK: %[[IGNORED:.*]] = parplan.constant {{.*}}dense<-100> : tensor<i64>
  // CHECK: %[[COUNTED:.*]] = parplan.compare ne %[[LABELS]], %[[IGNORED]]
  // CHECK: %[[ONES:.*]] = parplan.cast %[[COUNTED]] {{.*}} : tensor<4x3xi1> to tensor<4x3xf32>
  // CHECK: %[[OWN:.*]] = parplan.reduce sum %[[ONES]] dims [0, 1]
  // CHECK: %[[COUNT:.*]] = parplan.accumulate %[[OWN]]
  // CHECK: %[[SUM:.*]] = parplan.reduce sum %[[LOSS]] dims [0, 1]
  // CHECK: %[[TOTAL:.*]] = parplan.accumulate %[[SUM]]
  // CHECK: %[[DIVISOR:.*]] = parplan.max %[[COUNT]],
  // CHECK: %[[MEAN:.*]] = parplan.div %[[TOTAL]], %[[DIVISOR]] {parplan.role = "loss"}
  // CHECK: return %[[MEAN]] : tensor<f32>
  return %x : tensor<4x3x5xf32>
}

// -----

// expected-error@+1 {{the output 'logits' is a 'tensor<5xf32>': the logits of a cross-entropy have classes in their last dimension, and samples in their first}}
func.func @main(%x: tensor<5xf32>) -> (tensor<5xf32> {parplan.name = "logits"}) attributes {parplan.micro_batches = 1 : i64} {
  return %x : tensor<5xf32>
}

// -----

// expected-error@+1 {{the output 'logits' is a 'tensor<12x5xf32>': its first dimension must count the 4 samples of a micro-batch}}
func.func @main(%x: tensor<4x3x5xf32> {parplan.batch}) -> (tensor<12x5xf32> {parplan.name = "logits"}) attributes {parplan.micro_batches = 1 : i64} {
  %y = parplan.reshape %x : tensor<4x3x5xf32> to tensor<12x5xf32>
  return %y : tensor<12x5xf32>
}

// -----

// expected-error@+1 {{the model has an input 'labels' already}}
func.func @main(%x: tensor<4x5xf32> {parplan.batch}, %labels: tensor<4xi64> {parplan.name = "labels"}) -> (tensor<4x5xf32> {parplan.name = "logits"}) attributes {parplan.micro_batches = 1 : i64} {
  return %x : tensor<4x5xf32>
}

// -----

// expected-error@+1 {{a loss needs the number of micro-batches and one result}}
func.func @main(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  return %x : tensor<4x5xf32>
}
