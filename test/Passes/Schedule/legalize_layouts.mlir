// RUN: parplan-opt %s -parplan-legalize-layouts | FileCheck %s

parplan.mesh @mesh <["tp0"=2 tensor]>

// A transpose of a weight is a stride of the product.
// CHECK-LABEL: func.func @absorb_operand
func.func @absorb_operand(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: parplan.matmul "mk,nk->mn" %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<6x8xf32>
  %t = parplan.transpose %w [1, 0] : tensor<6x8xf32>
  %y = parplan.matmul "mk,kn->mn" %x, %t : tensor<4x8xf32>, tensor<8x6xf32>
  // CHECK-NEXT: return
  return %y : tensor<4x6xf32>
}

// Heads behind the sequence: a batch dimension with strides of its own.
// CHECK-LABEL: func.func @absorb_heads
func.func @absorb_heads(%q: tensor<2x5x3x4xf32>, %k: tensor<2x6x3x4xf32>) -> tensor<2x3x5x6xf32> {
  // CHECK-NEXT: parplan.matmul "bmhk,bnhk->bhmn"
  %qt = parplan.transpose %q [0, 2, 1, 3] : tensor<2x5x3x4xf32>
  %kt = parplan.transpose %k [0, 2, 1, 3] : tensor<2x6x3x4xf32>
  %s = parplan.matmul "bhmk,bhnk->bhmn" %qt, %kt : tensor<2x3x5x4xf32>, tensor<2x3x6x4xf32>
  // CHECK-NEXT: return
  return %s : tensor<2x3x5x6xf32>
}

// CHECK-LABEL: func.func @absorb_result
func.func @absorb_result(%p: tensor<2x3x5x6xf32>, %v: tensor<2x6x3x4xf32>) -> tensor<2x5x3x4xf32> {
  // CHECK-NEXT: parplan.matmul "bhst,bthe->bshe"
  %o = parplan.matmul "bhst,bthe->bhse" %p, %v : tensor<2x3x5x6xf32>, tensor<2x6x3x4xf32>
  %r = parplan.transpose %o [0, 2, 1, 3] : tensor<2x3x5x4xf32>
  // CHECK-NEXT: return
  return %r : tensor<2x5x3x4xf32>
}

// The transpose has other readers: it stays for them.
// CHECK-LABEL: func.func @shared_transpose
func.func @shared_transpose(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> (tensor<4x6xf32>, tensor<8x6xf32>) {
  // CHECK-NEXT: parplan.transpose
  // CHECK-NEXT: parplan.matmul "mk,nk->mn"
  %t = parplan.transpose %w [1, 0] : tensor<6x8xf32>
  %y = parplan.matmul "mk,kn->mn" %x, %t : tensor<4x8xf32>, tensor<8x6xf32>
  return %y, %t : tensor<4x6xf32>, tensor<8x6xf32>
}

// Rows that count stand as the choices of their tokens do, and columns are one run: else nothing is read transposed.
// CHECK-LABEL: func.func @rows_of_experts
func.func @rows_of_experts(%x: tensor<4x3x2x8xf32>, %w: tensor<4x6x8xf32>, %v: tensor<4x8x5x6xf32>, %i: tensor<2x3x1xi64>) -> (tensor<4x2x3x6xf32>, tensor<4x5x2x3x6xf32>) {
  // CHECK-NEXT: %[[T:.*]] = parplan.transpose %{{.*}} [0, 2, 1, 3] : tensor<4x3x2x8xf32>
  // CHECK-NEXT: %[[Y:.*]] = parplan.matmul "ebsk,enk->ebsn" %[[T]], %{{.*}} experts %{{.*}} : tensor<2x3x1xi64> of 4 tokens "bs"
  // CHECK-NEXT: %[[Z:.*]] = parplan.matmul "ebsk,ekpn->ebspn" %[[T]], %{{.*}} experts
  // CHECK-NEXT: %[[R:.*]] = parplan.transpose %[[Z]] [0, 3, 1, 2, 4]
  // CHECK-NEXT: return %[[Y]], %[[R]]
  %t = parplan.transpose %x [0, 2, 1, 3] : tensor<4x3x2x8xf32>
  %u = parplan.transpose %w [0, 2, 1] : tensor<4x6x8xf32>
  %y = parplan.matmul "ebsk,ekn->ebsn" %t, %u experts %i : tensor<2x3x1xi64> of 4 tokens "bs" : tensor<4x2x3x8xf32>, tensor<4x8x6xf32>
  %z = parplan.matmul "ebsk,ekpn->epbsn" %t, %v experts %i : tensor<2x3x1xi64> of 4 tokens "bs" : tensor<4x2x3x8xf32>, tensor<4x8x5x6xf32>
  return %y, %z : tensor<4x2x3x6xf32>, tensor<4x5x2x3x6xf32>
}

// Two summed dimensions that no stride joins.
// CHECK-LABEL: func.func @split_sum
func.func @split_sum(%x: tensor<3x4x5xf32>, %w: tensor<5x3x6xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: %[[LHS:.*]] = parplan.transpose %{{.*}} [1, 2, 0] : tensor<3x4x5xf32>
  // CHECK-NEXT: parplan.matmul "mkp,kpn->mn" %[[LHS]], %{{.*}}
  // CHECK-NEXT: return
  %y = parplan.matmul "pmk,kpn->mn" %x, %w : tensor<3x4x5xf32>, tensor<5x3x6xf32>
  return %y : tensor<4x6xf32>
}

// The products of a backward pass need no copies: rows and samples are one sum, heads are batches.
// CHECK-LABEL: func.func @backward
func.func @backward(%x: tensor<2x5x8xf32>, %dy: tensor<2x5x6xf32>, %w: tensor<8x6xf32>, %p: tensor<2x3x5x5xf32>, %do: tensor<2x5x3x4xf32>, %wo: tensor<3x4x8xf32>) -> (tensor<8x6xf32>, tensor<2x5x8xf32>, tensor<2x5x3x4xf32>, tensor<3x4x8xf32>) {
  // CHECK-NOT: parplan.transpose
  %dw = parplan.matmul "bsk,bsn->kn" %x, %dy : tensor<2x5x8xf32>, tensor<2x5x6xf32>
  %dx = parplan.matmul "bsn,kn->bsk" %dy, %w : tensor<2x5x6xf32>, tensor<8x6xf32>
  %dv = parplan.matmul "bhst,bshe->bthe" %p, %do : tensor<2x3x5x5xf32>, tensor<2x5x3x4xf32>
  %dwo = parplan.matmul "bshe,bsk->hek" %do, %x : tensor<2x5x3x4xf32>, tensor<2x5x8xf32>
  // CHECK: return
  return %dw, %dx, %dv, %dwo : tensor<8x6xf32>, tensor<2x5x8xf32>, tensor<2x5x3x4xf32>, tensor<3x4x8xf32>
}

// Groups of query heads are summed in the gradient of a key: the smaller operand is transposed.
// CHECK-LABEL: func.func @backward_grouped
func.func @backward_grouped(%p: tensor<2x3x2x7x7xf32>, %do: tensor<2x7x3x2x4xf32>) -> tensor<2x7x3x4xf32> {
  // CHECK-NEXT: %[[DO:.*]] = parplan.transpose %{{.*}} : tensor<2x7x3x2x4xf32>
  // CHECK-NEXT: parplan.matmul "bgrst,bgrse->btge" %{{.*}}, %[[DO]]
  // CHECK-NEXT: return
  %dk = parplan.matmul "bgrst,bsgre->btge" %p, %do : tensor<2x3x2x7x7xf32>, tensor<2x7x3x2x4xf32>
  return %dk : tensor<2x7x3x4xf32>
}

// CHECK-LABEL: func.func @narrow
func.func @narrow(%x: tensor<4x8xbf16>, %s: tensor<8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
  // CHECK-NEXT: %[[X:.*]] = parplan.cast %{{.*}} : tensor<4x8xbf16> to tensor<4x8xf32>
  // CHECK-NEXT: %[[Y:.*]] = parplan.softmax %[[X]] dim 1 : tensor<4x8xf32>
  // CHECK-NEXT: %[[LOW:.*]] = parplan.cast %[[Y]] : tensor<4x8xf32> to tensor<4x8xbf16>
  %y = parplan.softmax %x dim 1 : tensor<4x8xbf16>
  // CHECK: parplan.rms_norm %{{.*}} scale %{{.*}} : tensor<8xf32> dim 1 epsilon {{.*}} : tensor<4x8xf32>
  %z = parplan.rms_norm %y scale %s : tensor<8xbf16> dim 1 epsilon 1.0e-6 : tensor<4x8xbf16>
  // CHECK: return %[[LOW]]
  return %y, %z : tensor<4x8xbf16>, tensor<4x8xbf16>
}

// A long sum is one of parts, from left to right.
// CHECK-LABEL: func.func @long_sum
func.func @long_sum(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: %[[S:.*]] = parplan.sum %[[A:[^,]*]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]], %[[A]] :
  // CHECK-NEXT: parplan.sum %[[S]], %[[B:[^,]*]], %[[B]] :
  %s = parplan.sum %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %b, %b : tensor<f32>
  return %s : tensor<f32>
}

// The innermost dimension of the result is a batch: neither rows nor columns have stride 1.
// CHECK-LABEL: func.func @batch_innermost
func.func @batch_innermost(%x: tensor<2x4x8xf32>, %w: tensor<2x8x6xf32>) -> tensor<4x6x2xf32> {
  // CHECK-NEXT: %[[Y:.*]] = parplan.matmul "bmk,bkn->bmn"
  // CHECK-NEXT: parplan.transpose %[[Y]] [1, 2, 0] : tensor<2x4x6xf32>
  %y = parplan.matmul "bmk,bkn->mnb" %x, %w : tensor<2x4x8xf32>, tensor<2x8x6xf32>
  return %y : tensor<4x6x2xf32>
}

// The mean of a picture over batch and space.
// CHECK-LABEL: func.func @split_reduction
func.func @split_reduction(%x: tensor<2x3x4x5xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: %[[ROWS:.*]] = parplan.reduce sum %{{.*}} dims [2, 3] : tensor<2x3x4x5xf32>
  // CHECK-NEXT: parplan.reduce sum %[[ROWS]] dims [0] : tensor<2x3xf32>
  %s = parplan.reduce sum %x dims [0, 2, 3] : tensor<2x3x4x5xf32>
  return %s : tensor<3xf32>
}

// Size 1 between two reduced dimensions joins them.
// CHECK-LABEL: func.func @neighbours
func.func @neighbours(%x: tensor<2x1x4xf32>) -> tensor<1xf32> {
  // CHECK-NEXT: parplan.reduce sum %{{.*}} dims [0, 2] : tensor<2x1x4xf32>
  // CHECK-NEXT: return
  %s = parplan.reduce sum %x dims [0, 2] : tensor<2x1x4xf32>
  return %s : tensor<1xf32>
}

// CHECK-LABEL: func.func @batch_norm
func.func @batch_norm(%x: tensor<2x3x4x4xf32>, %c: tensor<3xf32>) -> tensor<2x3x4x4xf32> {
  // CHECK-NOT: parplan.batch_norm
  // CHECK: parplan.rsqrt
  // CHECK-SAME: parplan.node = 7
  %y = parplan.batch_norm %x, %c, %c, %c, %c epsilon 1.0e-5 {parplan.node = 7} : tensor<2x3x4x4xf32>, tensor<3xf32>
  return %y : tensor<2x3x4x4xf32>
}
