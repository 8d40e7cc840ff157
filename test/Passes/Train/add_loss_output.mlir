// RUN: parplan-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(parplan-add-loss{loss=output})' | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32> {parplan.batch}) -> tensor<1xf32> attributes {parplan.micro_batches = 2 : i64} {
  // CHECK: %[[Y:.*]] = parplan.reduce max %{{.*}} dims [0] keep_dims
  // CHECK: %[[R:.*]] = parplan.reduce sum %[[Y]] dims [0]
  // CHECK: %[[T:.*]] = parplan.accumulate %[[R]]
  // CHECK: %[[C:.*]] = parplan.constant {{.*}}dense<5.000000e-01> : tensor<f32>
  // CHECK: parplan.mul %[[T]], %[[C]]
  %y = parplan.reduce max %x dims [0] keep_dims : tensor<4xf32>
  return %y : tensor<1xf32>
}

// -----

// expected-error@+1 {{the output 'y' is a 'tensor<4xf32>': a loss is a scalar}}
func.func @main(%x: tensor<4xf32> {parplan.batch}) -> (tensor<4xf32> {parplan.name = "y"}) attributes {parplan.micro_batches = 2 : i64} {
  return %x : tensor<4xf32>
}
