// RUN: parplan-opt %s | parplan-opt | FileCheck %s
// RUN: parplan-opt %s -canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<2x3x4xf32>) {
  // CHECK: parplan.reshape %{{.*}} : tensor<2x3x4xf32> to tensor<6x4xf32>
  parplan.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  // CHECK: parplan.broadcast %{{.*}} : tensor<2x3x4xf32> to tensor<5x2x3x4xf32>
  parplan.broadcast %x : tensor<2x3x4xf32> to tensor<5x2x3x4xf32>
  // CHECK: %[[T:.*]] = parplan.transpose %{{.*}} [2, 0, 1] : tensor<2x3x4xf32>
  %t = parplan.transpose %x [2, 0, 1] : tensor<2x3x4xf32>
  // CHECK: %[[S:.*]] = parplan.slice %[[T]] dims [0, 2] from [3, 0] to [-1, 2] step [-2, 1] : tensor<4x2x3xf32>
  %s = parplan.slice %t dims [0, 2] from [3, 0] to [-1, 2] step [-2, 1] : tensor<4x2x3xf32>
  // CHECK: parplan.concat %[[S]], %[[S]] dim 0 : tensor<2x2x2xf32>, tensor<2x2x2xf32>
  %c = parplan.concat %s, %s dim 0 : tensor<2x2x2xf32>, tensor<2x2x2xf32>
  // CHECK: parplan.pad %{{.*}} dims [1] low [0] high [2] value 1.000000e+00 : tensor<4x2x2xf32>
  parplan.pad %c dims [1] low [0] high [2] value 1.0 : tensor<4x2x2xf32>
  return
}

// FOLD-LABEL: func.func @chains
func.func @chains(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>) {
  %flat = parplan.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  %back = parplan.reshape %flat : tensor<6x4xf32> to tensor<2x3x4xf32>
  // FOLD: %[[LINE:.*]] = parplan.reshape %arg0 : tensor<2x3x4xf32> to tensor<24xf32>
  %line = parplan.reshape %flat : tensor<6x4xf32> to tensor<24xf32>
  %there = parplan.transpose %x [2, 0, 1] : tensor<2x3x4xf32>
  %again = parplan.transpose %there [1, 2, 0] : tensor<4x2x3xf32>
  // FOLD: return %arg0, %[[LINE]], %arg0
  return %back, %line, %again : tensor<2x3x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>
}
