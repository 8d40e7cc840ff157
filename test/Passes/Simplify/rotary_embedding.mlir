// RUN: parplan-opt %s -parplan-raise | FileCheck %s

parplan.initializer @query "query.weight" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @query_key "query_key.weight" : tensor<8x16xf32> in "" at 256 length 512

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

// The halves of what a product makes are not two products.
// CHECK-LABEL: func.func @rotation_of_halves_of_a_product
func.func @rotation_of_halves_of_a_product(%x: tensor<2x8xf32>, %cos: tensor<2x4xf32>, %sin: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %w = parplan.parameter @query : tensor<8x8xf32>
  // CHECK: %[[P:.*]] = parplan.matmul "mk,kn->mn"
  // CHECK-NEXT: parplan.rope %[[P]] cos %arg1 sin %arg2
  %p = parplan.matmul "mk,kn->mn" %x, %w : tensor<2x8xf32>, tensor<8x8xf32>
  %low = parplan.slice %p dims [1] from [0] to [4] step [1] : tensor<2x8xf32>
  %high = parplan.slice %p dims [1] from [4] to [8] step [1] : tensor<2x8xf32>
  %a = parplan.mul %low, %cos : tensor<2x4xf32>, tensor<2x4xf32>
  %b = parplan.mul %high, %sin : tensor<2x4xf32>, tensor<2x4xf32>
  %c = parplan.mul %high, %cos : tensor<2x4xf32>, tensor<2x4xf32>
  %d = parplan.mul %low, %sin : tensor<2x4xf32>, tensor<2x4xf32>
  %first = parplan.sub %a, %b : tensor<2x4xf32>, tensor<2x4xf32>
  %second = parplan.add %c, %d : tensor<2x4xf32>, tensor<2x4xf32>
  %y = parplan.concat %first, %second dim 1 : tensor<2x4xf32>, tensor<2x4xf32>
  return %y : tensor<2x8xf32>
}

// Fused q and k of two heads, each turned in its first half, as GPT-NeoX has it.
// CHECK-LABEL: func.func @rotation_of_a_part_of_each_head
func.func @rotation_of_a_part_of_each_head(%x: tensor<3x8xf32>, %angles: tensor<3x1xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  // CHECK-COUNT-3: parplan.matmul "mk,kno->mno"
  // CHECK-NOT: parplan.matmul
  // CHECK-COUNT-1: parplan.rope
  // CHECK-NOT: parplan.rope
  %f = parplan.concat %angles, %angles dim 1 : tensor<3x1xf32>, tensor<3x1xf32>
  %cos = parplan.cos %f : tensor<3x2xf32>
  %sin = parplan.sin %f : tensor<3x2xf32>
  %w = parplan.parameter @query_key : tensor<8x16xf32>
  %p = parplan.matmul "mk,kn->mn" %x, %w : tensor<3x8xf32>, tensor<8x16xf32>
  %heads = parplan.reshape %p : tensor<3x16xf32> to tensor<3x2x8xf32>
  %t = parplan.transpose %heads [1, 0, 2] : tensor<3x2x8xf32>
  %q = parplan.slice %t dims [2] from [0] to [4] step [1] : tensor<2x3x8xf32>
  %k = parplan.slice %t dims [2] from [4] to [8] step [1] : tensor<2x3x8xf32>
  %turned = parplan.slice %q dims [2] from [0] to [2] step [1] : tensor<2x3x4xf32>
  %kept = parplan.slice %q dims [2] from [2] to [4] step [1] : tensor<2x3x4xf32>
  %a = parplan.mul %turned, %cos : tensor<2x3x2xf32>, tensor<3x2xf32>
  %low = parplan.slice %turned dims [2] from [0] to [1] step [1] : tensor<2x3x2xf32>
  %high = parplan.slice %turned dims [2] from [1] to [2] step [1] : tensor<2x3x2xf32>
  %minus = parplan.neg %high : tensor<2x3x1xf32>
  %swapped = parplan.concat %minus, %low dim 2 : tensor<2x3x1xf32>, tensor<2x3x1xf32>
  %b = parplan.mul %swapped, %sin : tensor<2x3x2xf32>, tensor<3x2xf32>
  %rotated = parplan.add %a, %b : tensor<2x3x2xf32>, tensor<2x3x2xf32>
  %y = parplan.concat %rotated, %kept dim 2 : tensor<2x3x2xf32>, tensor<2x3x2xf32>
  return %y, %k : tensor<2x3x4xf32>, tensor<2x3x4xf32>
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
