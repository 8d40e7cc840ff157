// RUN: parplan-opt %s -parplan-raise | FileCheck %s

// CHECK-LABEL: func.func @rotation
func.func @rotation(%x: tensor<2x6x3x8xf32>, %angles: tensor<6x4xf32>) -> (tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) {
  // CHECK-DAG: %[[COS:.*]] = parplan.cos %arg1 {{.*}}: tensor<6x4xf32>
  // CHECK-DAG: %[[SIN:.*]] = parplan.sin %arg1 {{.*}}: tensor<6x4xf32>
  // CHECK-DAG: %[[C:.*]] = parplan.reshape %[[COS]] : tensor<6x4xf32> to tensor<1x6x1x4xf32>
  // CHECK-DAG: %[[S:.*]] = parplan.reshape %[[SIN]] : tensor<6x4xf32> to tensor<1x6x1x4xf32>
  // CHECK: %[[R:.*]] = parplan.rope %arg0 cos %[[C]] sin %[[S]] {parplan.onnx_op = "RotaryEmbedding"}
  // CHECK: %[[T:.*]] = parplan.transpose %[[R]] [0, 2, 1, 3]
  // CHECK-NOT: parplan.concat
  %f = parplan.concat %angles, %angles dim 1 : tensor<6x4xf32>, tensor<6x4xf32>
  %cos = parplan.cos %f : tensor<6x8xf32>
  %sin = parplan.sin %f : tensor<6x8xf32>
  %t = parplan.transpose %x [0, 2, 1, 3] : tensor<2x6x3x8xf32>
  %a = parplan.mul %t, %cos : tensor<2x3x6x8xf32>, tensor<6x8xf32>
  %low = parplan.slice %t dims [3] from [0] to [4] step [1] : tensor<2x3x6x8xf32>
  %high = parplan.slice %t dims [3] from [4] to [8] step [1] : tensor<2x3x6x8xf32>
  %minus = parplan.neg %high : tensor<2x3x6x4xf32>
  %turned = parplan.concat %minus, %low dim 3 : tensor<2x3x6x4xf32>, tensor<2x3x6x4xf32>
  %b = parplan.mul %turned, %sin : tensor<2x3x6x8xf32>, tensor<6x8xf32>
  %y = parplan.add %a, %b : tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>
  %again = parplan.add %b, %a : tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>
  return %y, %again : tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>
}

// CHECK-LABEL: func.func @rotation_of_halves
func.func @rotation_of_halves(%x: tensor<2x8xf32>, %cos: tensor<2x4xf32>, %sin: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %low = parplan.slice %x dims [1] from [0] to [4] step [1] : tensor<2x8xf32>
  %high = parplan.slice %x dims [1] from [4] to [8] step [1] : tensor<2x8xf32>
  %a = parplan.mul %low, %cos : tensor<2x4xf32>, tensor<2x4xf32>
  %b = parplan.mul %high, %sin : tensor<2x4xf32>, tensor<2x4xf32>
  %c = parplan.mul %high, %cos : tensor<2x4xf32>, tensor<2x4xf32>
  %d = parplan.mul %low, %sin : tensor<2x4xf32>, tensor<2x4xf32>
  %first = parplan.sub %a, %b : tensor<2x4xf32>, tensor<2x4xf32>
  %second = parplan.add %c, %d : tensor<2x4xf32>, tensor<2x4xf32>
  // CHECK-NEXT: parplan.rope %arg0 cos %arg1 sin %arg2
  %y = parplan.concat %first, %second dim 1 : tensor<2x4xf32>, tensor<2x4xf32>
  return %y : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @table_of_unequal_halves
func.func @table_of_unequal_halves(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %cos = parplan.constant dense<[1.0, 2.0, 1.0, 3.0]> : tensor<4xf32>
  %a = parplan.mul %x, %cos : tensor<2x4xf32>, tensor<4xf32>
  %low = parplan.slice %x dims [1] from [0] to [2] step [1] : tensor<2x4xf32>
  %high = parplan.slice %x dims [1] from [2] to [4] step [1] : tensor<2x4xf32>
  %minus = parplan.neg %high : tensor<2x2xf32>
  %turned = parplan.concat %minus, %low dim 1 : tensor<2x2xf32>, tensor<2x2xf32>
  %b = parplan.mul %turned, %cos : tensor<2x4xf32>, tensor<4xf32>
  // CHECK-NOT: parplan.rope
  %y = parplan.add %a, %b : tensor<2x4xf32>, tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @constant_table
func.func @constant_table(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // CHECK: %[[C:.*]] = parplan.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %cos = parplan.constant dense<[1.0, 2.0, 1.0, 2.0]> : tensor<4xf32>
  %a = parplan.mul %x, %cos : tensor<2x4xf32>, tensor<4xf32>
  %low = parplan.slice %x dims [1] from [0] to [2] step [1] : tensor<2x4xf32>
  %high = parplan.slice %x dims [1] from [2] to [4] step [1] : tensor<2x4xf32>
  %minus = parplan.neg %high : tensor<2x2xf32>
  %turned = parplan.concat %minus, %low dim 1 : tensor<2x2xf32>, tensor<2x2xf32>
  %b = parplan.mul %turned, %cos : tensor<2x4xf32>, tensor<4xf32>
  // CHECK: parplan.rope %arg0 cos %[[C]] sin %[[C]]
  %y = parplan.add %a, %b : tensor<2x4xf32>, tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
