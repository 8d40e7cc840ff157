// RUN: parplan-opt %s -parplan-to-exec -verify-diagnostics -split-input-file

// expected-error@+1 {{there is no function @main}}
module {
  parplan.mesh @mesh <["tp0"=2 tensor]>
}

// -----

// expected-error@+1 {{a program needs a module with one mesh}}
module {
  func.func @main() {
    return
  }
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>
func.func @main(%x: tensor<4xf32> {parplan.name = "x"}) -> (tensor<4xf32> {parplan.name = "y"}) {
  // expected-error@+1 {{has no kernel: it should have been fused or decomposed before placement}}
  %0 = parplan.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>
func.func @main(%x: tensor<4x2xf32> {parplan.name = "x"}) -> (tensor<2x4xf32> {parplan.name = "y"}) {
  // expected-error@+1 {{is left: it needs parplan-fuse-elementwise}}
  %0 = parplan.transpose %x [1, 0] : tensor<4x2xf32>
  return %0 : tensor<2x4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>
func.func @main(%x: tensor<2x4x8xf32> {parplan.name = "x"}, %w: tensor<2x8x6xf32> {parplan.name = "w"}) -> (tensor<4x6x2xf32> {parplan.name = "y"}) {
  // expected-error@+1 {{has no matmul form: it needs parplan-legalize-layouts}}
  %0 = parplan.matmul "bmk,bkn->mnb" %x, %w : tensor<2x4x8xf32>, tensor<2x8x6xf32>
  return %0 : tensor<4x6x2xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>
func.func @main(%x: tensor<2x3x4xf32> {parplan.name = "x"}) -> (tensor<3xf32> {parplan.name = "y"}) {
  // expected-error@+1 {{reduces dimensions that are not neighbours: it needs parplan-legalize-layouts}}
  %0 = parplan.reduce sum %x dims [0, 2] : tensor<2x3x4xf32>
  return %0 : tensor<3xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>
func.func @main(%x: tensor<2x4xf16> {parplan.name = "x"}) -> (tensor<2x4xf16> {parplan.name = "y"}) {
  // expected-error@+1 {{has no kernel for elements of type 'f16'}}
  %0 = parplan.softmax %x dim 1 : tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}

// -----

parplan.mesh @mesh <["c"=2 context]>
func.func @main(%x: tensor<i64> {parplan.name = "x"}) -> (tensor<i64> {parplan.name = "y"}) {
  // expected-error@+1 {{is left: it needs parplan-fuse-elementwise}}
  %start = parplan.block_start 4 axes <"c"> : tensor<i64>
  return %start : tensor<i64>
}

// -----

parplan.mesh @mesh <["dp0"=2 data]>
func.func @main(%x: tensor<4x8xf32> {parplan.name = "x"}) -> (tensor<8x8xf32> {parplan.name = "y"}) {
  %kept = parplan.transfer %x to "host" : tensor<4x8xf32>
  // expected-error@+1 {{reads values on the host and device: parplan.transfer is missing}}
  %y = parplan.matmul "mk,mn->kn" %kept, %x : tensor<4x8xf32>, tensor<4x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>
func.func @main(%x: tensor<2x6x4x8xf32> {parplan.name = "x"}, %s: tensor<4xf32> {parplan.name = "s"}) -> (tensor<2x6x4x8xf32> {parplan.name = "y"}) {
  // expected-error@+1 {{has a sink, which no kernel knows: parplan-write-out-sinks comes before}}
  %y = parplan.attention %x, %x, %x sink %s : tensor<4xf32> scale 0.5 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
  return %y : tensor<2x6x4x8xf32>
}
