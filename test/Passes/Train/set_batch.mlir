// RUN: parplan-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(parplan-set-batch{micro-batches=2 batch=4})' | FileCheck %s

// The batch goes through reshapes; what is equal for all samples is made in the
// new size.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<4x3x2xf32> {parplan.batch, parplan.name = "x"}, %[[M:[a-z0-9]+]]: tensor<1x3xf32>) -> tensor<4x3x2xf32>
// CHECK-SAME: attributes {parplan.micro_batches = 2 : i64}
func.func @main(%x: tensor<8x3x2xf32> {parplan.batch, parplan.name = "x"}, %m: tensor<1x3xf32>) -> tensor<8x3x2xf32> {
  // CHECK-DAG: parplan.constant dense<1.000000e+00> : tensor<4x1x2xf32>
  // CHECK-DAG: parplan.constant dense<{{\[}}[5, 7], [5, 7], [5, 7], [5, 7]]> : tensor<4x2xi64>
  // CHECK-DAG: parplan.iota 1 : tensor<4x1x2xi64>
  // CHECK-DAG: parplan.broadcast %{{.*}} : tensor<3x1xf32> to tensor<4x3x1xf32>
  // CHECK: parplan.reshape %{{.*}} : tensor<4x3x2xf32> to tensor<12x2xf32>
  // CHECK: parplan.reshape %{{.*}} : tensor<12x2xf32> to tensor<4x3x2xf32>
  // CHECK: parplan.concat %{{.*}} dim 1 : tensor<4x1x2xf32>, tensor<4x2x2xf32>
  %ones = parplan.constant dense<1.0> : tensor<8x1x2xf32>
  %rows = parplan.constant dense<[[5, 7], [5, 7], [5, 7], [5, 7], [5, 7], [5, 7], [5, 7], [5, 7]]> : tensor<8x2xi64>
  %iota = parplan.iota 1 : tensor<8x1x2xi64>
  %t = parplan.reshape %m : tensor<1x3xf32> to tensor<3x1xf32>
  %spread = parplan.broadcast %t : tensor<3x1xf32> to tensor<8x3x1xf32>
  %flat = parplan.reshape %x : tensor<8x3x2xf32> to tensor<24x2xf32>
  %e = parplan.exp %flat : tensor<24x2xf32>
  %y = parplan.reshape %e : tensor<24x2xf32> to tensor<8x3x2xf32>
  %s = parplan.slice %y dims [1] from [1] to [3] step [1] : tensor<8x3x2xf32>
  %z = parplan.concat %ones, %s dim 1 : tensor<8x1x2xf32>, tensor<8x2x2xf32>
  %a = parplan.add %z, %spread : tensor<8x3x2xf32>, tensor<8x3x1xf32>
  %r = parplan.reshape %rows : tensor<8x2xi64> to tensor<8x1x2xi64>
  %n = parplan.add %r, %iota : tensor<8x1x2xi64>, tensor<8x1x2xi64>
  %f = parplan.cast %n : tensor<8x1x2xi64> to tensor<8x1x2xf32>
  %b = parplan.mul %a, %f : tensor<8x3x2xf32>, tensor<8x1x2xf32>
  return %b : tensor<8x3x2xf32>
}

// -----

func.func @main(%x: tensor<8x3xf32> {parplan.batch}) -> tensor<8x3xf32> {
  // expected-error@+1 {{mixes the samples of a batch, which are in several micro-batches}}
  %sum = parplan.reduce sum %x dims [0] : tensor<8x3xf32>
  %e = parplan.exp %sum : tensor<3xf32>
  %y = parplan.sub %x, %e : tensor<8x3xf32>, tensor<3xf32>
  return %y : tensor<8x3xf32>
}

// -----

func.func @main(%x: tensor<8x3xf32> {parplan.batch}) -> tensor<8x3xf32> {
  // expected-error@+1 {{mixes the samples of a batch, which are in several micro-batches}}
  %y = parplan.softmax %x dim 0 : tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}

// -----

func.func @main(%x: tensor<8x3xf32> {parplan.batch}) -> tensor<3xf32> {
  // expected-error@+1 {{mixes the samples of a batch, which are in several micro-batches}}
  %y = parplan.reduce sum %x dims [0] : tensor<8x3xf32>
  return %y : tensor<3xf32>
}

// -----

func.func @main(%x: tensor<8x3xf32> {parplan.batch}) -> tensor<4x3xf32> {
  // expected-error@+1 {{cannot be split along the batch: it reads samples at fixed places, or mixes them}}
  %y = parplan.slice %x dims [0] from [4] to [8] step [1] : tensor<8x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

func.func @main(%x: tensor<8xi64> {parplan.batch}) -> tensor<8xi64> {
  %i = parplan.iota 0 : tensor<8xi64>
  // expected-error@+1 {{cannot be split along the batch: an operand has its own value for every sample of the file's batch}}
  %y = parplan.add %x, %i : tensor<8xi64>, tensor<8xi64>
  return %y : tensor<8xi64>
}

// -----

// expected-error@+1 {{the model has a fixed batch of 1, so that micro-batches cannot have 4 samples}}
func.func @main(%x: tensor<1xf32> {parplan.batch}) -> tensor<1xf32> {
  return %x : tensor<1xf32>
}
