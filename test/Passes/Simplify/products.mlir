// RUN: parplan-opt %s -parplan-raise | FileCheck %s

parplan.initializer @qkv "qkv.weight" : tensor<8x24xf32> in "" at 0 length 768
parplan.initializer @bias "qkv.bias" : tensor<24xf32> in "" at 768 length 96
parplan.initializer @linear "linear.weight" : tensor<16x8xf32> in "" at 864 length 512

// The rows of a flattened product keep their dimensions.
// CHECK-LABEL: func.func @gemm_of_flattened_rows
func.func @gemm_of_flattened_rows(%x: tensor<2x3x8xf32>) -> tensor<2x3x16xf32> {
  // CHECK: %[[W:.*]] = parplan.parameter @linear view <offset = 0, strides = [1, 8]> : tensor<8x16xf32>
  %w = parplan.parameter @linear : tensor<16x8xf32>
  %t = parplan.transpose %w [1, 0] : tensor<16x8xf32>
  %flat = parplan.reshape %x : tensor<2x3x8xf32> to tensor<6x8xf32>
  // CHECK: %[[Y:.*]] = parplan.matmul "bsk,kn->bsn" %arg0, %[[W]] {parplan.node = 4 : i64, parplan.onnx_op = "Gemm"}
  %y = parplan.matmul "ab,bc->ac" %flat, %t {parplan.node = 4 : i64, parplan.onnx_op = "Gemm"} : tensor<6x8xf32>, tensor<8x16xf32>
  // CHECK-NEXT: %[[Z:.*]] = parplan.relu %[[Y]] : tensor<2x3x16xf32>
  %r = parplan.relu %y : tensor<6x16xf32>
  // CHECK-NEXT: return %[[Z]]
  %back = parplan.reshape %r : tensor<6x16xf32> to tensor<2x3x16xf32>
  return %back : tensor<2x3x16xf32>
}

// CHECK-LABEL: func.func @fused_projections
func.func @fused_projections(%x: tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  // CHECK-DAG: %[[WQ:.*]] = parplan.parameter @qkv view <offset = 0, strides = [24, 1]> : tensor<8x8xf32>
  // CHECK-DAG: %[[BQ:.*]] = parplan.parameter @bias view <offset = 0, strides = [1]> : tensor<8xf32>
  // CHECK-DAG: %[[WK:.*]] = parplan.parameter @qkv view <offset = 8, strides = [24, 1]> : tensor<8x8xf32>
  // CHECK-DAG: %[[BK:.*]] = parplan.parameter @bias view <offset = 8, strides = [1]> : tensor<8xf32>
  %w = parplan.parameter @qkv : tensor<8x24xf32>
  %b = parplan.parameter @bias : tensor<24xf32>
  %flat = parplan.reshape %x : tensor<2x3x8xf32> to tensor<6x8xf32>
  // CHECK-DAG: %[[Q:.*]] = parplan.matmul "bsk,kn->bsn" %arg0, %[[WQ]] {parplan.node = 1 : i64, parplan.onnx_op = "Gemm"} : tensor<2x3x8xf32>, tensor<8x8xf32>
  // CHECK-DAG: parplan.add %[[Q]], %[[BQ]]
  // CHECK-DAG: %[[K:.*]] = parplan.matmul "bsk,kn->bsn" %arg0, %[[WK]]
  // CHECK-DAG: parplan.add %[[K]], %[[BK]]
  // CHECK-NOT: parplan.slice
  // CHECK-NOT: parplan.reshape
  %p = parplan.matmul "ab,bc->ac" %flat, %w {parplan.node = 1 : i64, parplan.onnx_op = "Gemm"} : tensor<6x8xf32>, tensor<8x24xf32>
  %s = parplan.add %p, %b : tensor<6x24xf32>, tensor<24xf32>
  %y = parplan.reshape %s : tensor<6x24xf32> to tensor<2x3x24xf32>
  %q = parplan.slice %y dims [2] from [0] to [8] step [1] : tensor<2x3x24xf32>
  %k = parplan.slice %y dims [2] from [8] to [16] step [1] : tensor<2x3x24xf32>
  %v = parplan.slice %y dims [2] from [16] to [24] step [1] : tensor<2x3x24xf32>
  return %q, %k, %v : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// Heads outside, q k v inside: parts of a column dimension that is no range.
// CHECK-LABEL: func.func @interleaved_projections
func.func @interleaved_projections(%x: tensor<2x3x8xf32>) -> tensor<2x2x3x4xf32> {
  // CHECK-DAG: %[[W:.*]] = parplan.parameter @qkv view <offset = 4, strides = [24, 12, 1]> : tensor<8x2x4xf32>
  // CHECK-DAG: %[[B:.*]] = parplan.parameter @bias view <offset = 4, strides = [12, 1]> : tensor<2x4xf32>
  %w = parplan.parameter @qkv : tensor<8x24xf32>
  %b = parplan.parameter @bias : tensor<24xf32>
  // CHECK-DAG: %[[K:.*]] = parplan.matmul "bsk,kno->bsno" %arg0, %[[W]]
  // CHECK-DAG: %[[S:.*]] = parplan.add %[[K]], %[[B]]
  // CHECK: %[[T:.*]] = parplan.transpose %[[S]] [0, 2, 1, 3]
  // CHECK: return %[[T]]
  %p = parplan.matmul "abc,cd->abd" %x, %w : tensor<2x3x8xf32>, tensor<8x24xf32>
  %s = parplan.add %p, %b : tensor<2x3x24xf32>, tensor<24xf32>
  %heads = parplan.reshape %s : tensor<2x3x24xf32> to tensor<2x3x2x3x4xf32>
  %t = parplan.transpose %heads [0, 2, 3, 1, 4] : tensor<2x3x2x3x4xf32>
  %k = parplan.slice %t dims [2] from [1] to [2] step [1] : tensor<2x2x3x3x4xf32>
  %y = parplan.reshape %k : tensor<2x2x1x3x4xf32> to tensor<2x2x3x4xf32>
  return %y : tensor<2x2x3x4xf32>
}

// CHECK-LABEL: func.func @product_with_another_use
func.func @product_with_another_use(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x24xf32>) {
  %w = parplan.parameter @qkv : tensor<8x24xf32>
  // CHECK: parplan.matmul "mk,kn->mn"
  %p = parplan.matmul "mk,kn->mn" %x, %w : tensor<2x8xf32>, tensor<8x24xf32>
  // CHECK: parplan.slice
  %q = parplan.slice %p dims [1] from [0] to [8] step [1] : tensor<2x24xf32>
  return %q, %p : tensor<2x8xf32>, tensor<2x24xf32>
}

// Two parts that overlap are slices of one product.
// CHECK-LABEL: func.func @parts_that_overlap
func.func @parts_that_overlap(%x: tensor<2x8xf32>) -> (tensor<2x6xf32>, tensor<2x4xf32>, tensor<2x16xf32>) {
  // CHECK-DAG: %[[W0:.*]] = parplan.parameter @qkv view <offset = 0, strides = [24, 1]> : tensor<8x8xf32>
  // CHECK-DAG: %[[Q:.*]] = parplan.matmul "mk,kn->mn" %arg0, %[[W0]]
  // CHECK-DAG: parplan.slice %[[Q]] dims [1] from [0] to [6]
  // CHECK-DAG: parplan.slice %[[Q]] dims [1] from [4] to [8]
  // CHECK-DAG: %[[W1:.*]] = parplan.parameter @qkv view <offset = 8, strides = [24, 1]> : tensor<8x16xf32>
  // CHECK-DAG: parplan.matmul "mk,kn->mn" %arg0, %[[W1]]
  // CHECK: return
  %w = parplan.parameter @qkv : tensor<8x24xf32>
  %p = parplan.matmul "mk,kn->mn" %x, %w : tensor<2x8xf32>, tensor<8x24xf32>
  %a = parplan.slice %p dims [1] from [0] to [6] step [1] : tensor<2x24xf32>
  %b = parplan.slice %p dims [1] from [4] to [8] step [1] : tensor<2x24xf32>
  %c = parplan.slice %p dims [1] from [8] to [24] step [1] : tensor<2x24xf32>
  return %a, %b, %c : tensor<2x6xf32>, tensor<2x4xf32>, tensor<2x16xf32>
}

// A chain of parts that overlap is all of the product.
// CHECK-LABEL: func.func @parts_with_much_in_common
func.func @parts_with_much_in_common(%x: tensor<2x8xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>) {
  %w = parplan.parameter @qkv : tensor<8x24xf32>
  // CHECK: %[[P:.*]] = parplan.matmul "mk,kn->mn"
  // CHECK-NEXT: parplan.slice %[[P]] dims [1] from [0] to [16]
  // CHECK-NEXT: parplan.slice %[[P]] dims [1] from [8] to [24]
  // CHECK-NOT: parplan.matmul
  %p = parplan.matmul "mk,kn->mn" %x, %w : tensor<2x8xf32>, tensor<8x24xf32>
  %a = parplan.slice %p dims [1] from [0] to [16] step [1] : tensor<2x24xf32>
  %b = parplan.slice %p dims [1] from [8] to [24] step [1] : tensor<2x24xf32>
  return %a, %b : tensor<2x16xf32>, tensor<2x16xf32>
}

// CHECK-LABEL: func.func @part_of_a_part
func.func @part_of_a_part(%x: tensor<2x24xf32>) -> tensor<2x4xf32> {
  // CHECK-NEXT: parplan.slice %arg0 dims [1] from [10] to [14]
  %a = parplan.slice %x dims [1] from [8] to [16] step [1] : tensor<2x24xf32>
  %b = parplan.slice %a dims [1] from [2] to [6] step [1] : tensor<2x8xf32>
  return %b : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @part_of_a_part_that_is_read
func.func @part_of_a_part_that_is_read(%x: tensor<2x24xf32>) -> (tensor<2x8xf32>, tensor<2x4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = parplan.slice %arg0 dims [1] from [8] to [16]
  // CHECK-NEXT: parplan.slice %[[A]] dims [1] from [2] to [6]
  %a = parplan.slice %x dims [1] from [8] to [16] step [1] : tensor<2x24xf32>
  %b = parplan.slice %a dims [1] from [2] to [6] step [1] : tensor<2x8xf32>
  return %a, %b : tensor<2x8xf32>, tensor<2x4xf32>
}

// Every second element of a part, and a part along another dimension.
// CHECK-LABEL: func.func @parts_of_a_part_in_other_ways
func.func @parts_of_a_part_in_other_ways(%x: tensor<2x24xf32>, %y: tensor<2x24xf32>) -> (tensor<2x4xf32>, tensor<1x8xf32>) {
  // CHECK-COUNT-4: parplan.slice
  %a = parplan.slice %x dims [1] from [8] to [16] step [1] : tensor<2x24xf32>
  %b = parplan.slice %a dims [1] from [0] to [8] step [2] : tensor<2x8xf32>
  %c = parplan.slice %y dims [1] from [8] to [16] step [1] : tensor<2x24xf32>
  %d = parplan.slice %c dims [0] from [1] to [2] step [1] : tensor<2x8xf32>
  return %b, %d : tensor<2x4xf32>, tensor<1x8xf32>
}

// CHECK-LABEL: func.func @transposed_operands
func.func @transposed_operands(%x: tensor<4x2x8xf32>, %y: tensor<2x16x8xf32>) -> tensor<2x4x16xf32> {
  %a = parplan.transpose %x [1, 0, 2] : tensor<4x2x8xf32>
  %b = parplan.transpose %y [0, 2, 1] : tensor<2x16x8xf32>
  // CHECK-NEXT: parplan.matmul "sbk,bnk->bsn" %arg0, %arg1
  %z = parplan.matmul "abc,acd->abd" %a, %b : tensor<2x4x8xf32>, tensor<2x8x16xf32>
  return %z : tensor<2x4x16xf32>
}

// Gate and up of experts that are chosen at run time.
// CHECK-LABEL: func.func @fused_weights_of_experts
func.func @fused_weights_of_experts(%x: tensor<5x4x1xf32>, %experts: tensor<5xi64>) -> (tensor<5x2xf32>, tensor<5x2xf32>) {
  // CHECK: %[[W0:.*]] = parplan.parameter @qkv view <offset = 0, strides = [16, 4, 1]> : tensor<12x2x4xf32>
  // CHECK: %[[G0:.*]] = parplan.gather %[[W0]], %arg1 dim 0
  // CHECK: parplan.matmul {{.*}} %[[G0]], %arg0
  // CHECK: %[[W1:.*]] = parplan.parameter @qkv view <offset = 8, strides = [16, 4, 1]> : tensor<12x2x4xf32>
  // CHECK: %[[G1:.*]] = parplan.gather %[[W1]], %arg1 dim 0
  // CHECK: parplan.matmul {{.*}} %[[G1]], %arg0
  // CHECK-NOT: parplan.slice
  %w = parplan.parameter @qkv view <offset = 0, strides = [16, 4, 1]> : tensor<12x4x4xf32>
  %g = parplan.gather %w, %experts dim 0 : tensor<12x4x4xf32>, tensor<5xi64>
  %p = parplan.matmul "abc,acd->abd" %g, %x : tensor<5x4x4xf32>, tensor<5x4x1xf32>
  %y = parplan.reshape %p : tensor<5x4x1xf32> to tensor<5x4xf32>
  %gate = parplan.slice %y dims [1] from [0] to [2] step [1] : tensor<5x4xf32>
  %up = parplan.slice %y dims [1] from [2] to [4] step [1] : tensor<5x4xf32>
  return %gate, %up : tensor<5x2xf32>, tensor<5x2xf32>
}
