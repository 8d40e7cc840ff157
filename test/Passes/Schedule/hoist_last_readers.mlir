// RUN: parplan-opt %s -split-input-file -parplan-hoist-last-readers | FileCheck %s

parplan.mesh @mesh <["tp0"=2 tensor]>

// The gradient of the activation takes the bytes of the activation.
// CHECK-LABEL: func.func @weight_gradient_first(
func.func @weight_gradient_first(%a: tensor<16x4xf32>, %dy: tensor<16x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<16x4xf32>, tensor<4x4xf32>) {
  // CHECK-NEXT: %[[X:.*]] = parplan.matmul
  // CHECK-NEXT: %[[DW:.*]] = parplan.matmul "km,kn->mn" %[[X]], %arg1
  // CHECK-NEXT: %[[DX:.*]] = parplan.matmul "mk,nk->mn" %arg1, %arg2
  // CHECK-NEXT: return %[[DX]], %[[DW]]
  %x = parplan.matmul "mk,kn->mn" %a, %w : tensor<16x4xf32>, tensor<4x4xf32>
  %dx = parplan.matmul "mk,nk->mn" %dy, %w : tensor<16x4xf32>, tensor<4x4xf32>
  %dw = parplan.matmul "km,kn->mn" %x, %dy : tensor<16x4xf32>, tensor<16x4xf32>
  return %dx, %dw : tensor<16x4xf32>, tensor<4x4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// The activation, its gradient and that of the weight would be alive at once.
// CHECK-LABEL: func.func @large_weight(
func.func @large_weight(%a: tensor<2x8xf32>, %dy: tensor<2x8xf32>, %w: tensor<8x8xf32>)
    -> (tensor<2x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: %[[X:.*]] = parplan.matmul
  // CHECK-NEXT: parplan.matmul "km,kn->mn" %[[X]], %arg1
  // CHECK-NEXT: parplan.matmul "mk,nk->mn" %arg1, %arg2
  %x = parplan.matmul "mk,kn->mn" %a, %w : tensor<2x8xf32>, tensor<8x8xf32>
  %dx = parplan.matmul "mk,nk->mn" %dy, %w : tensor<2x8xf32>, tensor<8x8xf32>
  %dw = parplan.matmul "km,kn->mn" %x, %dy : tensor<2x8xf32>, tensor<2x8xf32>
  return %dx, %dw : tensor<2x8xf32>, tensor<8x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// The product in front frees more: it makes room for a large gradient.
// CHECK-LABEL: func.func @frees_more(
func.func @frees_more(%a: tensor<2x8xf32>, %dy: tensor<2x8xf32>, %w: tensor<8x8xf32>)
    -> (tensor<2x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: %[[X:.*]] = parplan.matmul
  // CHECK-NEXT: %[[V:.*]] = parplan.matmul
  // CHECK-NEXT: parplan.matmul "mk,kn->mn" %arg1, %[[V]]
  // CHECK-NEXT: parplan.matmul "km,kn->mn" %[[X]], %arg1
  %x = parplan.matmul "mk,kn->mn" %a, %w : tensor<2x8xf32>, tensor<8x8xf32>
  %v = parplan.matmul "mk,kn->mn" %w, %w : tensor<8x8xf32>, tensor<8x8xf32>
  %dx = parplan.matmul "mk,kn->mn" %dy, %v : tensor<2x8xf32>, tensor<8x8xf32>
  %dw = parplan.matmul "km,kn->mn" %x, %dy : tensor<2x8xf32>, tensor<2x8xf32>
  return %dx, %dw : tensor<2x8xf32>, tensor<8x8xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// More would be alive beside the first convolution, which may need much more besides.
// CHECK-LABEL: func.func @convolution(
func.func @convolution(%a: tensor<1x4x4xf32>, %dy: tensor<1x4x2xf32>, %w: tensor<4x4x3xf32>)
    -> (tensor<1x4x4xf32>, tensor<4x4x3xf32>) {
  // CHECK: parplan.conv_input_gradient
  // CHECK-NEXT: parplan.conv_weight_gradient
  %x = parplan.neg %a : tensor<1x4x4xf32>
  %dx = parplan.conv_input_gradient %dy, %w strides [1] pads [0, 0] dilations [1] groups 1 : tensor<1x4x2xf32>, tensor<4x4x3xf32> to tensor<1x4x4xf32>
  %dw = parplan.conv_weight_gradient %x, %dy strides [1] pads [0, 0] dilations [1] groups 1 : tensor<1x4x4xf32>, tensor<1x4x2xf32> to tensor<4x4x3xf32>
  return %dx, %dw : tensor<1x4x4xf32>, tensor<4x4x3xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// A view that is read later keeps the activation's bytes.
// CHECK-LABEL: func.func @kept_by_a_view(
func.func @kept_by_a_view(%a: tensor<16x4xf32>, %dy: tensor<16x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<16x4xf32>, tensor<4x4xf32>, tensor<64xf32>) {
  // CHECK-NEXT: %[[X:.*]] = parplan.matmul
  // CHECK-NEXT: parplan.reshape
  // CHECK-NEXT: parplan.matmul "mk,nk->mn" %arg1, %arg2
  // CHECK-NEXT: parplan.matmul "km,kn->mn" %[[X]], %arg1
  %x = parplan.matmul "mk,kn->mn" %a, %w : tensor<16x4xf32>, tensor<4x4xf32>
  %v = parplan.reshape %x : tensor<16x4xf32> to tensor<64xf32>
  %dx = parplan.matmul "mk,nk->mn" %dy, %w : tensor<16x4xf32>, tensor<4x4xf32>
  %dw = parplan.matmul "km,kn->mn" %x, %dy : tensor<16x4xf32>, tensor<16x4xf32>
  return %dx, %dw, %v : tensor<16x4xf32>, tensor<4x4xf32>, tensor<64xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// The sum over ranks runs beside the gradient of the weight, and would wait.
// CHECK-LABEL: func.func @reduced_next(
func.func @reduced_next(%a: tensor<16x4xf32>, %dy: tensor<16x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<16x4xf32>, tensor<4x4xf32>) {
  // CHECK-NEXT: %[[X:.*]] = parplan.matmul
  // CHECK-NEXT: parplan.matmul "mk,nk->mn" %arg1, %arg2
  // CHECK-NEXT: parplan.matmul "km,kn->mn" %[[X]], %arg1
  // CHECK-NEXT: parplan.all_reduce
  %x = parplan.matmul "mk,kn->mn" %a, %w : tensor<16x4xf32>, tensor<4x4xf32>
  %part = parplan.matmul "mk,nk->mn" %dy, %w {parplan.shardings = [#parplan.sharding<@mesh, [{}, {}], partial = sum{"tp0"}>]}
      : tensor<16x4xf32>, tensor<4x4xf32>
  %dw = parplan.matmul "km,kn->mn" %x, %dy : tensor<16x4xf32>, tensor<16x4xf32>
  %dx = parplan.all_reduce sum %part axes <"tp0"> to <@mesh, [{}, {}]> : tensor<16x4xf32> -> tensor<16x4xf32>
  return %dx, %dw : tensor<16x4xf32>, tensor<4x4xf32>
}

// -----

parplan.mesh @mesh <["tp0"=2 tensor]>

// What is packed lies in a bucket that is there as a whole from its first part
// on: the first activation makes room for it, the second one for nothing.
// CHECK-LABEL: func.func @into_a_bucket(
func.func @into_a_bucket(%a: tensor<4x4xf32>, %dy: tensor<4x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<32xf32>) {
  // CHECK-NEXT: %[[X:.*]] = parplan.matmul
  // CHECK-NEXT: parplan.matmul "km,kn->mn" %[[X]], %arg1
  // CHECK-NEXT: %[[Y:.*]] = parplan.matmul
  // CHECK-NEXT: parplan.matmul "km,kn->mn" %[[Y]], %arg1
  // CHECK-NEXT: %[[DX:.*]] = parplan.matmul "mk,nk->mn" %arg1, %arg2
  // CHECK-NEXT: parplan.matmul "mk,nk->mn" %arg1, %[[DX]]
  %x = parplan.matmul "mk,kn->mn" %a, %w : tensor<4x4xf32>, tensor<4x4xf32>
  %y = parplan.matmul "mk,kn->mn" %a, %w : tensor<4x4xf32>, tensor<4x4xf32>
  %dx = parplan.matmul "mk,nk->mn" %dy, %w : tensor<4x4xf32>, tensor<4x4xf32>
  %dw = parplan.matmul "km,kn->mn" %x, %dy : tensor<4x4xf32>, tensor<4x4xf32>
  %dz = parplan.matmul "mk,nk->mn" %dy, %dx : tensor<4x4xf32>, tensor<4x4xf32>
  %dv = parplan.matmul "km,kn->mn" %y, %dy : tensor<4x4xf32>, tensor<4x4xf32>
  %bucket = parplan.pack %dw, %dv at [0, 16] : tensor<4x4xf32>, tensor<4x4xf32> to tensor<32xf32>
  return %dx, %dz, %bucket : tensor<4x4xf32>, tensor<4x4xf32>, tensor<32xf32>
}
