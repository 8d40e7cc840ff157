// RUN: parplan-opt %s | parplan-opt | FileCheck %s

// CHECK-LABEL: func.func @indexing
func.func @indexing(%ids: tensor<2x3xi64>, %table: tensor<7x4xf32>, %x: tensor<2x3xf32>) {
  // CHECK: parplan.embedding %{{.*}}, %{{.*}} : tensor<2x3xi64>, tensor<7x4xf32>
  %e = parplan.embedding %ids, %table : tensor<2x3xi64>, tensor<7x4xf32>
  // CHECK: parplan.gather %{{.*}}, %{{.*}} dim 1 : tensor<7x4xf32>, tensor<2x3xi64>
  %g = parplan.gather %table, %ids dim 1 : tensor<7x4xf32>, tensor<2x3xi64>
  // CHECK: parplan.gather_elements %{{.*}}, %{{.*}} dim 0 : tensor<7x4xf32>, tensor<2x3xi64>
  parplan.gather_elements %table, %ids dim 0 : tensor<7x4xf32>, tensor<2x3xi64>
  // CHECK: parplan.gather_nd %{{.*}}, %{{.*}} batch_dims 1 : tensor<2x3x4xf32>, tensor<2x2xi64>
  %d = parplan.slice %e dims [0] from [0] to [2] step [1] : tensor<2x3x4xf32>
  %pairs = parplan.slice %ids dims [1] from [0] to [2] step [1] : tensor<2x3xi64>
  parplan.gather_nd %d, %pairs batch_dims 1 : tensor<2x3x4xf32>, tensor<2x2xi64>
  // CHECK: parplan.topk %{{.*}} k 2 dim 1 largest true : tensor<2x3xf32>
  %values, %indices = parplan.topk %x k 2 dim 1 largest true : tensor<2x3xf32>
  // CHECK: parplan.cumsum %{{.*}} dim 1 {exclusive} : tensor<2x3xf32>
  parplan.cumsum %x dim 1 {exclusive} : tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<2x8x9xf32>, %w: tensor<6x4x3xf32>, %b: tensor<6xf32>) {
  // CHECK: parplan.reduce sum %{{.*}} dims [0, 2] keep_dims : tensor<2x8x9xf32>
  %r = parplan.reduce sum %x dims [0, 2] keep_dims : tensor<2x8x9xf32>
  // CHECK: parplan.matmul "bst,but->bsu" %{{.*}}, %{{.*}} : tensor<2x8x9xf32>, tensor<2x8x9xf32>
  %m = parplan.matmul "bst,but->bsu" %x, %x : tensor<2x8x9xf32>, tensor<2x8x9xf32>
  // CHECK: parplan.conv %{{.*}}, %{{.*}}, %{{.*}} strides [2] pads [1, 0] dilations [1] groups 2 : tensor<2x8x9xf32>, tensor<6x4x3xf32>, tensor<6xf32>
  %c = parplan.conv %x, %w, %b strides [2] pads [1, 0] dilations [1] groups 2 : tensor<2x8x9xf32>, tensor<6x4x3xf32>, tensor<6xf32>
  // CHECK: parplan.conv %{{.*}}, %{{.*}} strides [1] pads [0, 0] dilations [2] groups 2 : tensor<2x8x9xf32>, tensor<6x4x3xf32>
  parplan.conv %x, %w strides [1] pads [0, 0] dilations [2] groups 2 : tensor<2x8x9xf32>, tensor<6x4x3xf32>
  // CHECK: parplan.max_pool %{{.*}} window [2] strides [2] pads [0, 0] dilations [1] : tensor<2x6x4xf32>
  parplan.max_pool %c window [2] strides [2] pads [0, 0] dilations [1] : tensor<2x6x4xf32>
  // CHECK: parplan.average_pool %{{.*}} window [2] strides [2] pads [0, 0] dilations [1] {count_include_pad} : tensor<2x6x4xf32>
  parplan.average_pool %c window [2] strides [2] pads [0, 0] dilations [1] {count_include_pad} : tensor<2x6x4xf32>
  return
}

// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<2x3x4xf32>, %s: tensor<4xf32>, %c: tensor<3xf32>) {
  // CHECK: parplan.softmax %{{.*}} dim 2 : tensor<2x3x4xf32>
  parplan.softmax %x dim 2 : tensor<2x3x4xf32>
  // CHECK: parplan.log_softmax %{{.*}} dim 1 : tensor<2x3x4xf32>
  parplan.log_softmax %x dim 1 : tensor<2x3x4xf32>
  // CHECK: parplan.layer_norm %{{.*}} scale %{{.*}} : tensor<4xf32> bias %{{.*}} : tensor<4xf32> dim 2 epsilon 1.000000e-05 : tensor<2x3x4xf32>
  parplan.layer_norm %x scale %s : tensor<4xf32> bias %s : tensor<4xf32> dim 2 epsilon 1.0e-5 : tensor<2x3x4xf32>
  // CHECK: parplan.layer_norm %{{.*}} dim 1 epsilon 0.000000e+00 : tensor<2x3x4xf32>
  parplan.layer_norm %x dim 1 epsilon 0.0 : tensor<2x3x4xf32>
  // CHECK: parplan.rms_norm %{{.*}} scale %{{.*}} : tensor<4xf32> dim 2 epsilon 1.000000e-05 : tensor<2x3x4xf32>
  parplan.rms_norm %x scale %s : tensor<4xf32> dim 2 epsilon 1.0e-5 : tensor<2x3x4xf32>
  // CHECK: parplan.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<2x3x4xf32>, tensor<3xf32>
  parplan.batch_norm %x, %c, %c, %c, %c epsilon 1.0e-5 : tensor<2x3x4xf32>, tensor<3xf32>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x5x6x8xf32>, %k: tensor<2x7x3x8xf32>, %v: tensor<2x7x3x4xf32>, %m: tensor<2x1x5x7xi1>, %o: tensor<i64>, %t: tensor<5x1x4xf32>) {
  // CHECK: parplan.attention %{{.*}}, %{{.*}}, %{{.*}} scale 1.250000e-01 causal : tensor<2x5x6x8xf32>, tensor<2x7x3x8xf32>, tensor<2x7x3x4xf32>
  parplan.attention %q, %k, %v scale 0.125 causal : tensor<2x5x6x8xf32>, tensor<2x7x3x8xf32>, tensor<2x7x3x4xf32>
  // CHECK: parplan.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} : tensor<2x1x5x7xi1> offset %{{.*}} : tensor<i64> scale 1.250000e-01 zero_masked_rows :
  parplan.attention %q, %k, %v mask %m : tensor<2x1x5x7xi1> offset %o : tensor<i64> scale 0.125 zero_masked_rows : tensor<2x5x6x8xf32>, tensor<2x7x3x8xf32>, tensor<2x7x3x4xf32>
  // CHECK: parplan.rope %{{.*}} cos %{{.*}} sin %{{.*}} {interleaved} : tensor<2x5x6x8xf32>, tensor<5x1x4xf32>, tensor<5x1x4xf32>
  parplan.rope %q cos %t sin %t {interleaved} : tensor<2x5x6x8xf32>, tensor<5x1x4xf32>, tensor<5x1x4xf32>
  return
}
