// RUN: parplan-opt %s | parplan-opt | FileCheck %s

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<2x3xf32>, %i: tensor<2x3xi64>, %p: tensor<2x3xi1>) {
  // CHECK: parplan.abs %{{.*}} : tensor<2x3xi64>
  parplan.abs %i : tensor<2x3xi64>
  // CHECK: parplan.exp %{{.*}} : tensor<2x3xf32>
  parplan.exp %x : tensor<2x3xf32>
  // CHECK: parplan.gelu %{{.*}} : tensor<2x3xf32>
  parplan.gelu %x : tensor<2x3xf32>
  // CHECK: parplan.gelu tanh %{{.*}} : tensor<2x3xf32>
  parplan.gelu tanh %x : tensor<2x3xf32>
  // CHECK: parplan.atanh %{{.*}} : tensor<2x3xf32>
  parplan.atanh %x : tensor<2x3xf32>
  // CHECK: parplan.not %{{.*}} : tensor<2x3xi1>
  parplan.not %p : tensor<2x3xi1>
  // CHECK: parplan.xor %{{.*}}, %{{.*}} : tensor<2x3xi64>, tensor<2x3xi64>
  parplan.xor %i, %i : tensor<2x3xi64>, tensor<2x3xi64>
  // CHECK: parplan.bitcast %{{.*}} : tensor<2x3xf32> to tensor<2x3xi32>
  parplan.bitcast %x : tensor<2x3xf32> to tensor<2x3xi32>
  // CHECK: parplan.is_nan %{{.*}} : tensor<2x3xf32>
  parplan.is_nan %x : tensor<2x3xf32>
  // CHECK: parplan.cast %{{.*}} : tensor<2x3xf32> to tensor<2x3xbf16>
  parplan.cast %x : tensor<2x3xf32> to tensor<2x3xbf16>
  return
}

// CHECK-LABEL: func.func @broadcasting
func.func @broadcasting(%x: tensor<2x1x3xf32>, %y: tensor<4x1xf32>, %p: tensor<3xi1>) -> tensor<2x4x3xf32> {
  // CHECK: %[[SUM:.*]] = parplan.add %{{.*}}, %{{.*}} : tensor<2x1x3xf32>, tensor<4x1xf32>
  %sum = parplan.add %x, %y : tensor<2x1x3xf32>, tensor<4x1xf32>
  // CHECK: parplan.compare lt %[[SUM]], %{{.*}} : tensor<2x4x3xf32>, tensor<4x1xf32>
  %less = parplan.compare lt %sum, %y : tensor<2x4x3xf32>, tensor<4x1xf32>
  // CHECK: parplan.select %{{.*}}, %[[SUM]], %{{.*}} : tensor<3xi1>, tensor<2x4x3xf32>, tensor<4x1xf32>
  %select = parplan.select %p, %sum, %y : tensor<3xi1>, tensor<2x4x3xf32>, tensor<4x1xf32>
  return %select : tensor<2x4x3xf32>
}
