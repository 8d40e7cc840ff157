// RUN: parplan-opt %s -parplan-write-out-sinks | FileCheck %s

// The share of a row that its sink leaves: exp(l - m) / (exp(l - m) + exp(s - m)), m the larger one. What is no attention
// leads a group of its own.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]], %[[L:.*]] = parplan.attention %arg0, %arg0, %arg0 scale 5.000000e-01 causal statistics {parplan.block = 1 : i64, parplan.group = 3 : i64} : tensor<2x6x4x8xf32>
// CHECK: %[[M:.*]] = parplan.max %[[L]], %{{.*}} {parplan.block = 1 : i64, parplan.group = 10 : i64} : tensor<2x4x6xf32>, tensor<4x1xf32>
// CHECK: %[[LOG:.*]] = parplan.log %[[TOTAL:[^ ]*]]
// CHECK: %[[SUM:.*]] = parplan.add %[[LOG]], %[[M]]
// CHECK: %[[SHARE:.*]] = parplan.div %{{.*}}, %[[TOTAL]] {{.*}} : tensor<2x4x6xf32>, tensor<2x4x6xf32>
// CHECK: parplan.transpose %[[SHARE]] [0, 2, 1]
// CHECK: %[[SCALED:.*]] = parplan.mul %[[Y]], %{{.*}} {{{.*}}} : tensor<2x6x4x8xf32>, tensor<2x6x4x1xf32>
// CHECK: return %[[SCALED]], %[[SUM]]
func.func @main(%x: tensor<2x6x4x8xf32>, %s: tensor<4xf32>) -> (tensor<2x6x4x8xf32>, tensor<2x4x6xf32>) {
  %y, %l = parplan.attention %x, %x, %x sink %s : tensor<4xf32> scale 0.5 causal statistics {parplan.block = 1 : i64, parplan.group = 3 : i64} : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
  %z = parplan.neg %y {parplan.group = 8 : i64} : tensor<2x6x4x8xf32>
  return %y, %l : tensor<2x6x4x8xf32>, tensor<2x4x6xf32>
}

// Nobody reads its statistics.
// CHECK-LABEL: func.func @forward
// CHECK-NOT: parplan.log
// CHECK: parplan.mul
// CHECK-NEXT: return
func.func @forward(%x: tensor<2x6x4x8xf32>, %s: tensor<4xf32>) -> tensor<2x6x4x8xf32> {
  %y = parplan.attention %x, %x, %x sink %s : tensor<4xf32> scale 0.5 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
  return %y : tensor<2x6x4x8xf32>
}

// CHECK-LABEL: func.func @without
// CHECK-NEXT: parplan.attention %arg0, %arg0, %arg0 scale 5.000000e-01 :
// CHECK-NEXT: return
func.func @without(%x: tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32> {
  %y = parplan.attention %x, %x, %x scale 0.5 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>
  return %y : tensor<2x6x4x8xf32>
}
