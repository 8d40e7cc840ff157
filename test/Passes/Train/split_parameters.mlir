// RUN: parplan-opt %s -split-input-file -verify-diagnostics -parplan-split-parameters | FileCheck %s

// The parts of a merged projection are leaves.
parplan.initializer @qkv "qkv" : tensor<4x12xf32> in "" at 0 length 192 {parplan.trained = "it is"}
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  // CHECK-DAG: parplan.parameter @qkv view <offset = 0, strides = [12, 1]> : tensor<4x4xf32>
  // CHECK-DAG: parplan.parameter @qkv view <offset = 4, strides = [12, 1]> : tensor<4x4xf32>
  // CHECK-DAG: parplan.parameter @qkv view <offset = 8, strides = [12, 1]> : tensor<4x4xf32>
  // CHECK-NOT: parplan.slice
  %wq = parplan.parameter @qkv view <offset = 0, strides = [12, 1]> : tensor<4x4xf32>
  %wk = parplan.parameter @qkv view <offset = 4, strides = [12, 1]> : tensor<4x4xf32>
  %wv = parplan.parameter @qkv view <offset = 8, strides = [12, 1]> : tensor<4x4xf32>
  %q = parplan.matmul "sk,kn->sn" %x, %wq : tensor<2x4xf32>, tensor<4x4xf32>
  %k = parplan.matmul "sk,kn->sn" %x, %wk : tensor<2x4xf32>, tensor<4x4xf32>
  %v = parplan.matmul "sk,kn->sn" %x, %wv : tensor<2x4xf32>, tensor<4x4xf32>
  return %q, %k, %v : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Parts that alternate by head: [2 heads, 3 parts, 2].
parplan.initializer @qkv "qkv" : tensor<12xf32> in "" at 0 length 48 {parplan.trained = "it is"}
// CHECK-LABEL: func.func @main
func.func @main() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<4xf32>) {
  // CHECK-DAG: parplan.parameter @qkv view <offset = 0, strides = [6, 1]> : tensor<2x2xf32>
  // CHECK-DAG: parplan.parameter @qkv view <offset = 2, strides = [6, 1]> : tensor<2x2xf32>
  // CHECK-DAG: %[[V:.*]] = parplan.parameter @qkv view <offset = 4, strides = [6, 1]> : tensor<2x2xf32>
  // CHECK: return
  %q = parplan.parameter @qkv view <offset = 0, strides = [6, 1]> : tensor<2x2xf32>
  %k = parplan.parameter @qkv view <offset = 2, strides = [6, 1]> : tensor<2x2xf32>
  %v = parplan.parameter @qkv view <offset = 4, strides = [6, 1]> : tensor<2x2xf32>
  %flat = parplan.reshape %v : tensor<2x2xf32> to tensor<4xf32>
  return %q, %k, %flat : tensor<2x2xf32>, tensor<2x2xf32>, tensor<4xf32>
}

// -----

// A table that is the last projection too: one leaf, the product reads it
// transposed.
parplan.initializer @table "table" : tensor<7x4xf32> in "" at 0 length 112 {parplan.trained = "it is"}
// CHECK-LABEL: func.func @main
func.func @main(%ids: tensor<2xi64>) -> (tensor<2x7xf32>, tensor<4x7xf32>) {
  // CHECK: %[[TABLE:.*]] = parplan.parameter @table : tensor<7x4xf32>
  // CHECK: %[[X:.*]] = parplan.embedding %arg0, %[[TABLE]]
  // CHECK: %[[Y:.*]] = parplan.matmul "sk,nk->sn" %[[X]], %[[TABLE]]
  // CHECK: %[[T:.*]] = parplan.transpose %[[TABLE]] [1, 0]
  // CHECK: %[[E:.*]] = parplan.exp %[[T]]
  // CHECK: return %[[Y]], %[[E]]
  %w = parplan.parameter @table : tensor<7x4xf32>
  %x = parplan.embedding %ids, %w : tensor<2xi64>, tensor<7x4xf32>
  %t = parplan.parameter @table view <offset = 0, strides = [1, 4]> : tensor<4x7xf32>
  %y = parplan.matmul "sk,kn->sn" %x, %t : tensor<2x4xf32>, tensor<4x7xf32>
  %u = parplan.parameter @table view <offset = 0, strides = [1, 4]> : tensor<4x7xf32>
  %e = parplan.exp %u : tensor<4x7xf32>
  return %y, %e : tensor<2x7xf32>, tensor<4x7xf32>
}

// -----

// What is read in part only is one leaf; the stride of one element says nothing.
parplan.initializer @positions "positions" : tensor<8x4xf32> in "" at 0 length 128 {parplan.trained = "it is"}
parplan.initializer @fixed "fixed" : tensor<8x4xf32> in "" at 128 length 128 {parplan.frozen = "it is"}
// CHECK-LABEL: func.func @main
func.func @main() -> (tensor<1x5x4xf32>, tensor<4x3xf32>, tensor<2x4xf32>) {
  // CHECK: %[[P:.*]] = parplan.parameter @positions : tensor<8x4xf32>
  // CHECK: %[[S:.*]] = parplan.slice %[[P]] dims [0] from [0] to [5] step [1]
  // CHECK: %[[R:.*]] = parplan.reshape %[[S]] : tensor<5x4xf32> to tensor<1x5x4xf32>
  // CHECK: %[[PAIRS:.*]] = parplan.reshape %[[P]] : tensor<8x4xf32> to tensor<4x2x4xf32>
  // CHECK: %[[B:.*]] = parplan.slice %[[PAIRS]] dims [0, 1] from [3, 1] to [0, 2] step [-1, 1]
  // CHECK: %[[ROWS:.*]] = parplan.reshape %[[B]] : tensor<3x1x4xf32> to tensor<3x4xf32>
  // CHECK: %[[T:.*]] = parplan.transpose %[[ROWS]] [1, 0]
  // CHECK: %[[F:.*]] = parplan.parameter @fixed view
  // CHECK: return %[[R]], %[[T]], %[[F]]
  %a = parplan.parameter @positions view <offset = 0, strides = [1, 4, 1]> : tensor<1x5x4xf32>
  %b = parplan.parameter @positions view <offset = 28, strides = [1, -8]> : tensor<4x3xf32>
  %c = parplan.parameter @fixed view <offset = 0, strides = [4, 1]> : tensor<2x4xf32>
  return %a, %b, %c : tensor<1x5x4xf32>, tensor<4x3xf32>, tensor<2x4xf32>
}

// -----

// expected-error@+1 {{the initializer 'toeplitz' is read through a view that cannot be trained; --freeze keeps it as it is}}
parplan.initializer @toeplitz "toeplitz" : tensor<5xf32> in "" at 0 length 20 {parplan.trained = "it is"}
func.func @main() -> tensor<3x3xf32> {
  %a = parplan.parameter @toeplitz view <offset = 0, strides = [1, 1]> : tensor<3x3xf32>
  return %a : tensor<3x3xf32>
}
