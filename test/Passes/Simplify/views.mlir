// RUN: parplan-opt %s -parplan-raise | FileCheck %s

parplan.initializer @w "w" : tensor<6x8xf32> in "" at 0 length 192

// CHECK-LABEL: func.func @views
func.func @views() -> (tensor<2x6xf32>, tensor<2x3x8xf32>, tensor<3x8xf32>, tensor<8x6xf32>) {
  %w = parplan.parameter @w : tensor<6x8xf32>
  // CHECK: %[[A:.*]] = parplan.parameter @w view <offset = 3, strides = [1, 8]> : tensor<2x6xf32>
  %t = parplan.transpose %w [1, 0] : tensor<6x8xf32>
  %a = parplan.slice %t dims [0] from [3] to [5] step [1] : tensor<8x6xf32>
  // CHECK: %[[B:.*]] = parplan.parameter @w view <offset = 0, strides = [24, 8, 1]> : tensor<2x3x8xf32>
  %b = parplan.reshape %w : tensor<6x8xf32> to tensor<2x3x8xf32>
  // CHECK: %[[C:.*]] = parplan.parameter @w view <offset = 40, strides = [-16, 1]> : tensor<3x8xf32>
  %c = parplan.slice %w dims [0] from [5] to [-1] step [-2] : tensor<6x8xf32>
  // A transposed matrix flattened has no strides.
  // CHECK: parplan.reshape %{{.*}} : tensor<48xf32> to tensor<8x6xf32>
  %flat = parplan.reshape %t : tensor<8x6xf32> to tensor<48xf32>
  %n = parplan.neg %flat : tensor<48xf32>
  %d = parplan.reshape %n : tensor<48xf32> to tensor<8x6xf32>
  return %a, %b, %c, %d : tensor<2x6xf32>, tensor<2x3x8xf32>, tensor<3x8xf32>, tensor<8x6xf32>
}

// CHECK-LABEL: func.func @chains
func.func @chains(%x: tensor<2x3x4x5xf32>) -> tensor<2x3x5x4xf32> {
  // Rows that move as a whole need no flattening.
  // CHECK-NEXT: %[[Y:.*]] = parplan.transpose %arg0 [0, 1, 3, 2]
  // CHECK-NEXT: return %[[Y]]
  %a = parplan.reshape %x : tensor<2x3x4x5xf32> to tensor<6x4x5xf32>
  %b = parplan.transpose %a [0, 2, 1] : tensor<6x4x5xf32>
  %c = parplan.reshape %b : tensor<6x5x4xf32> to tensor<2x3x5x4xf32>
  return %c : tensor<2x3x5x4xf32>
}
