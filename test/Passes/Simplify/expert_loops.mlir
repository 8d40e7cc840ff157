// RUN: parplan-opt %s -parplan-raise -parplan-raise-expert-loops -parplan-verify-simplified -split-input-file -verify-diagnostics | FileCheck %s

// A loop over experts, unrolled: each has its own weights, and weighs its answer by the choices that are its number.
// CHECK: parplan.initializer @u0 "experts.0.up"
// CHECK: parplan.initializer @u1 "experts.1.up"
// CHECK-NEXT: parplan.initializer @u0_stack "experts.0.up and 1 more" : tensor<2x6x8xf32> of [@u0, @u1] in "" at 0 length 384
// CHECK: parplan.initializer @d0_stack "experts.0.down and 1 more" : tensor<2x8x6xf32> of [@d0, @d1] in "" at 0 length 384
// CHECK-LABEL: func.func @masks
// CHECK-SAME: %[[X:.*]]: tensor<2x3x8xf32>, %[[SCORES:.*]]: tensor<2x3x4xf32>
// CHECK: %[[VALUES:.*]], %[[INDICES:.*]] = parplan.topk %[[SCORES]] k 2
// CHECK: %[[ROWS:.*]] = parplan.moe_dispatch %[[X]], %[[INDICES]] {parplan.onnx_op = "MoE"} : {{.*}} to tensor<2x2x3x8xf32>
// CHECK: %[[UP:.*]] = parplan.parameter @u0_stack : tensor<2x6x8xf32>
// CHECK: %[[H:.*]] = parplan.matmul "ebsk,enk->ebsn" %[[ROWS]], %[[UP]] {parplan.node = 7 : i64, parplan.onnx_op = "Gemm"}
// CHECK: %[[BIAS:.*]] = parplan.parameter @b0_stack view <offset = 6, strides = [12, 1]> : tensor<2x6xf32>
// CHECK: %[[SPREAD:.*]] = parplan.reshape %[[BIAS]] {{.*}}: tensor<2x6xf32> to tensor<2x1x1x6xf32>
// CHECK: %[[SUM:.*]] = parplan.add %[[H]], %[[SPREAD]]
// CHECK: %[[A:.*]] = parplan.silu %[[SUM]] : tensor<2x2x3x6xf32>
// CHECK: %[[DOWN:.*]] = parplan.parameter @d0_stack : tensor<2x8x6xf32>
// CHECK: %[[ANSWERS:.*]] = parplan.matmul "ebsk,enk->ebsn" %[[A]], %[[DOWN]]
// CHECK: %[[Y:.*]] = parplan.moe_combine %[[ANSWERS]], %[[INDICES]] weights %[[VALUES]]
// CHECK: %[[Z:.*]] = parplan.add %[[X]], %[[Y]]
// CHECK-NEXT: return %[[Z]]
parplan.initializer @u0 "experts.0.up" : tensor<6x8xf32> in "" at 0 length 192
parplan.initializer @b0 "experts.0.bias" : tensor<12xf32> in "" at 192 length 48
parplan.initializer @d0 "experts.0.down" : tensor<8x6xf32> in "" at 240 length 192
parplan.initializer @u1 "experts.1.up" : tensor<6x8xf32> in "" at 432 length 192
parplan.initializer @b1 "experts.1.bias" : tensor<12xf32> in "" at 624 length 48
parplan.initializer @d1 "experts.1.down" : tensor<8x6xf32> in "" at 672 length 192
func.func @masks(%x: tensor<2x3x8xf32>, %scores: tensor<2x3x4xf32>) -> tensor<2x3x8xf32> {
  %values, %indices = parplan.topk %scores k 2 dim 2 largest true : tensor<2x3x4xf32>
  %zero = parplan.constant dense<0> : tensor<i64>
  %one = parplan.constant dense<1> : tensor<i64>
  %m0 = parplan.compare eq %indices, %zero : tensor<2x3x2xi64>, tensor<i64>
  %f0 = parplan.cast %m0 : tensor<2x3x2xi1> to tensor<2x3x2xf32>
  %p0 = parplan.mul %values, %f0 : tensor<2x3x2xf32>, tensor<2x3x2xf32>
  %g0 = parplan.reduce sum %p0 dims [2] keep_dims : tensor<2x3x2xf32>
  %u0 = parplan.parameter @u0 : tensor<6x8xf32>
  %h0 = parplan.matmul "bsk,nk->bsn" %x, %u0 {parplan.node = 7 : i64, parplan.onnx_op = "Gemm"} : tensor<2x3x8xf32>, tensor<6x8xf32>
  %b0 = parplan.parameter @b0 view <offset = 6, strides = [1]> : tensor<6xf32>
  %s0 = parplan.add %h0, %b0 : tensor<2x3x6xf32>, tensor<6xf32>
  %a0 = parplan.silu %s0 : tensor<2x3x6xf32>
  %d0 = parplan.parameter @d0 : tensor<8x6xf32>
  %o0 = parplan.matmul "bsk,nk->bsn" %a0, %d0 : tensor<2x3x6xf32>, tensor<8x6xf32>
  %y0 = parplan.mul %g0, %o0 : tensor<2x3x1xf32>, tensor<2x3x8xf32>
  %t0 = parplan.add %x, %y0 : tensor<2x3x8xf32>, tensor<2x3x8xf32>
  %m1 = parplan.compare eq %indices, %one : tensor<2x3x2xi64>, tensor<i64>
  %f1 = parplan.cast %m1 : tensor<2x3x2xi1> to tensor<2x3x2xf32>
  %p1 = parplan.mul %values, %f1 : tensor<2x3x2xf32>, tensor<2x3x2xf32>
  %g1 = parplan.reduce sum %p1 dims [2] keep_dims : tensor<2x3x2xf32>
  %u1 = parplan.parameter @u1 : tensor<6x8xf32>
  %h1 = parplan.matmul "bsk,nk->bsn" %x, %u1 {parplan.node = 17 : i64, parplan.onnx_op = "Gemm"} : tensor<2x3x8xf32>, tensor<6x8xf32>
  %b1 = parplan.parameter @b1 view <offset = 6, strides = [1]> : tensor<6xf32>
  %s1 = parplan.add %h1, %b1 : tensor<2x3x6xf32>, tensor<6xf32>
  %a1 = parplan.silu %s1 : tensor<2x3x6xf32>
  %d1 = parplan.parameter @d1 : tensor<8x6xf32>
  %o1 = parplan.matmul "bsk,nk->bsn" %a1, %d1 : tensor<2x3x6xf32>, tensor<8x6xf32>
  %y1 = parplan.mul %o1, %g1 : tensor<2x3x8xf32>, tensor<2x3x1xf32>
  %t1 = parplan.add %t0, %y1 : tensor<2x3x8xf32>, tensor<2x3x8xf32>
  return %t1 : tensor<2x3x8xf32>
}

// -----

// Columns of a matrix: every token has every expert.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[X:.*]]: tensor<6x8xf32>, %[[GATES:.*]]: tensor<6x2xf32>
// CHECK: %[[ALL:.*]] = parplan.iota 1 : tensor<6x2xi64>
// CHECK: %[[ROWS:.*]] = parplan.moe_dispatch %[[X]], %[[ALL]]
// CHECK: %[[H:.*]] = parplan.matmul "etk,ekn->etn" %[[ROWS]]
// CHECK: parplan.moe_combine %[[H]], %[[ALL]] weights %[[GATES]]
parplan.initializer @w0 "w0" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @w1 "w1" : tensor<8x8xf32> in "" at 256 length 256
func.func @columns(%x: tensor<6x8xf32>, %gates: tensor<6x2xf32>) -> tensor<6x8xf32> {
  %w0 = parplan.parameter @w0 : tensor<8x8xf32>
  %h0 = parplan.matmul "mk,kn->mn" %x, %w0 : tensor<6x8xf32>, tensor<8x8xf32>
  %g0 = parplan.slice %gates dims [1] from [0] to [1] step [1] : tensor<6x2xf32>
  %y0 = parplan.mul %g0, %h0 : tensor<6x1xf32>, tensor<6x8xf32>
  %w1 = parplan.parameter @w1 : tensor<8x8xf32>
  %h1 = parplan.matmul "mk,kn->mn" %x, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  %g1 = parplan.slice %gates dims [1] from [1] to [2] step [1] : tensor<6x2xf32>
  %y1 = parplan.mul %g1, %h1 : tensor<6x1xf32>, tensor<6x8xf32>
  %y = parplan.add %y0, %y1 : tensor<6x8xf32>, tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// Something else reads the weights of an expert, in another way: they would be two variables.
// CHECK-LABEL: func.func @tied
// CHECK-NOT: parplan.moe_combine
parplan.initializer @w0 "w0" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @w1 "w1" : tensor<8x8xf32> in "" at 256 length 256
func.func @tied(%x: tensor<6x8xf32>, %gates: tensor<6x2xf32>) -> tensor<6x8xf32> {
  %w0 = parplan.parameter @w0 : tensor<8x8xf32>
  %h0 = parplan.matmul "mk,kn->mn" %x, %w0 : tensor<6x8xf32>, tensor<8x8xf32>
  %g0 = parplan.slice %gates dims [1] from [0] to [1] step [1] : tensor<6x2xf32>
  %y0 = parplan.mul %g0, %h0 : tensor<6x1xf32>, tensor<6x8xf32>
  %w1 = parplan.parameter @w1 : tensor<8x8xf32>
  %h1 = parplan.matmul "mk,kn->mn" %x, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  %g1 = parplan.slice %gates dims [1] from [1] to [2] step [1] : tensor<6x2xf32>
  %y1 = parplan.mul %g1, %h1 : tensor<6x1xf32>, tensor<6x8xf32>
  // expected-warning@below {{experts stay a loop: something else reads an initializer of theirs, too}}
  %y = parplan.add %y0, %y1 : tensor<6x8xf32>, tensor<6x8xf32>
  %again = parplan.parameter @w1 view <offset = 0, strides = [1, 8]> : tensor<8x8xf32>
  %z = parplan.matmul "mk,kn->mn" %y, %again : tensor<6x8xf32>, tensor<8x8xf32>
  return %z : tensor<6x8xf32>
}

// -----

// The same, by another use of one op, as models are imported.
// CHECK-LABEL: func.func @shared
// CHECK-NOT: parplan.moe_combine
parplan.initializer @w0 "w0" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @w1 "w1" : tensor<8x8xf32> in "" at 256 length 256
func.func @shared(%x: tensor<6x8xf32>, %gates: tensor<6x2xf32>) -> tensor<6x8xf32> {
  %w0 = parplan.parameter @w0 : tensor<8x8xf32>
  %h0 = parplan.matmul "mk,kn->mn" %x, %w0 : tensor<6x8xf32>, tensor<8x8xf32>
  %g0 = parplan.slice %gates dims [1] from [0] to [1] step [1] : tensor<6x2xf32>
  %y0 = parplan.mul %g0, %h0 : tensor<6x1xf32>, tensor<6x8xf32>
  %w1 = parplan.parameter @w1 : tensor<8x8xf32>
  %h1 = parplan.matmul "mk,kn->mn" %x, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  %g1 = parplan.slice %gates dims [1] from [1] to [2] step [1] : tensor<6x2xf32>
  %y1 = parplan.mul %g1, %h1 : tensor<6x1xf32>, tensor<6x8xf32>
  // expected-warning@below {{experts stay a loop: something else reads an initializer of theirs, too}}
  %y = parplan.add %y0, %y1 : tensor<6x8xf32>, tensor<6x8xf32>
  %z = parplan.matmul "mk,kn->mn" %y, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  return %z : tensor<6x8xf32>
}

// -----

// Two layers with the same experts have one stack.
// CHECK: parplan.initializer @w0_stack
// CHECK-NOT: _stack
// CHECK-LABEL: func.func @layers
// CHECK: parplan.parameter @w0_stack
// CHECK: %[[FIRST:.*]] = parplan.moe_combine
// CHECK: %[[A:.*]] = parplan.silu %[[FIRST]]
// CHECK: parplan.moe_dispatch %[[A]]
// CHECK: parplan.parameter @w0_stack
// CHECK: parplan.moe_combine
parplan.initializer @w0 "w0" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @w1 "w1" : tensor<8x8xf32> in "" at 256 length 256
func.func @layers(%x: tensor<6x8xf32>, %gates: tensor<6x2xf32>) -> tensor<6x8xf32> {
  %w0 = parplan.parameter @w0 : tensor<8x8xf32>
  %w1 = parplan.parameter @w1 : tensor<8x8xf32>
  %g0 = parplan.slice %gates dims [1] from [0] to [1] step [1] : tensor<6x2xf32>
  %g1 = parplan.slice %gates dims [1] from [1] to [2] step [1] : tensor<6x2xf32>
  %h0 = parplan.matmul "mk,kn->mn" %x, %w0 : tensor<6x8xf32>, tensor<8x8xf32>
  %y0 = parplan.mul %g0, %h0 : tensor<6x1xf32>, tensor<6x8xf32>
  %h1 = parplan.matmul "mk,kn->mn" %x, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  %y1 = parplan.mul %g1, %h1 : tensor<6x1xf32>, tensor<6x8xf32>
  %y = parplan.add %y0, %y1 : tensor<6x8xf32>, tensor<6x8xf32>
  %a = parplan.silu %y : tensor<6x8xf32>
  %i0 = parplan.matmul "mk,kn->mn" %a, %w0 : tensor<6x8xf32>, tensor<8x8xf32>
  %z0 = parplan.mul %g0, %i0 : tensor<6x1xf32>, tensor<6x8xf32>
  %i1 = parplan.matmul "mk,kn->mn" %a, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  %z1 = parplan.mul %g1, %i1 : tensor<6x1xf32>, tensor<6x8xf32>
  %z = parplan.add %z0, %z1 : tensor<6x8xf32>, tensor<6x8xf32>
  return %z : tensor<6x8xf32>
}

// -----

// In another order they would be in two stacks: neither layer is raised.
// CHECK-LABEL: func.func @swapped
// CHECK-NOT: parplan.moe_combine
parplan.initializer @w0 "w0" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @w1 "w1" : tensor<8x8xf32> in "" at 256 length 256
func.func @swapped(%x: tensor<6x8xf32>, %gates: tensor<6x2xf32>) -> tensor<6x8xf32> {
  %w0 = parplan.parameter @w0 : tensor<8x8xf32>
  %w1 = parplan.parameter @w1 : tensor<8x8xf32>
  %g0 = parplan.slice %gates dims [1] from [0] to [1] step [1] : tensor<6x2xf32>
  %g1 = parplan.slice %gates dims [1] from [1] to [2] step [1] : tensor<6x2xf32>
  %h0 = parplan.matmul "mk,kn->mn" %x, %w0 : tensor<6x8xf32>, tensor<8x8xf32>
  %y0 = parplan.mul %g0, %h0 : tensor<6x1xf32>, tensor<6x8xf32>
  %h1 = parplan.matmul "mk,kn->mn" %x, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  %y1 = parplan.mul %g1, %h1 : tensor<6x1xf32>, tensor<6x8xf32>
  // expected-warning@below {{experts stay a loop: something else reads an initializer of theirs, too}}
  %y = parplan.add %y0, %y1 : tensor<6x8xf32>, tensor<6x8xf32>
  %a = parplan.silu %y : tensor<6x8xf32>
  %i0 = parplan.matmul "mk,kn->mn" %a, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  %z0 = parplan.mul %g0, %i0 : tensor<6x1xf32>, tensor<6x8xf32>
  %i1 = parplan.matmul "mk,kn->mn" %a, %w0 : tensor<6x8xf32>, tensor<8x8xf32>
  %z1 = parplan.mul %g1, %i1 : tensor<6x1xf32>, tensor<6x8xf32>
  // expected-warning@below {{experts stay a loop: something else reads an initializer of theirs, too}}
  %z = parplan.add %z0, %z1 : tensor<6x8xf32>, tensor<6x8xf32>
  return %z : tensor<6x8xf32>
}

// -----

// What every expert computes of the same numbers is the same for all, also in ops of their own.
// CHECK-LABEL: func.func @scales
// CHECK: %[[SCALE:.*]] = parplan.exp %{{.*}} : tensor<8xf32>
// CHECK: %[[H:.*]] = parplan.matmul "etk,ekn->etn"
// CHECK: parplan.mul %[[H]], %[[SCALE]] : tensor<2x6x8xf32>, tensor<8xf32>
// CHECK: parplan.moe_combine
parplan.initializer @w0 "w0" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @w1 "w1" : tensor<8x8xf32> in "" at 256 length 256
parplan.initializer @s "s" : tensor<8xf32> in "" at 512 length 32
func.func @scales(%x: tensor<6x8xf32>, %gates: tensor<6x2xf32>) -> tensor<6x8xf32> {
  %s = parplan.parameter @s : tensor<8xf32>
  %w0 = parplan.parameter @w0 : tensor<8x8xf32>
  %h0 = parplan.matmul "mk,kn->mn" %x, %w0 : tensor<6x8xf32>, tensor<8x8xf32>
  %s0 = parplan.exp %s : tensor<8xf32>
  %m0 = parplan.mul %h0, %s0 : tensor<6x8xf32>, tensor<8xf32>
  %g0 = parplan.slice %gates dims [1] from [0] to [1] step [1] : tensor<6x2xf32>
  %y0 = parplan.mul %g0, %m0 : tensor<6x1xf32>, tensor<6x8xf32>
  %w1 = parplan.parameter @w1 : tensor<8x8xf32>
  %h1 = parplan.matmul "mk,kn->mn" %x, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  %s1 = parplan.exp %s : tensor<8xf32>
  %m1 = parplan.mul %h1, %s1 : tensor<6x8xf32>, tensor<8xf32>
  %g1 = parplan.slice %gates dims [1] from [1] to [2] step [1] : tensor<6x2xf32>
  %y1 = parplan.mul %g1, %m1 : tensor<6x1xf32>, tensor<6x8xf32>
  %y = parplan.add %y0, %y1 : tensor<6x8xf32>, tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// Weights that are added up in more digits than the answers have are rounded behind that.
// CHECK-LABEL: func.func @rounded
// CHECK: %[[WEIGHTS:.*]] = parplan.cast %{{.*}} : tensor<6x2xf32> to tensor<6x2xbf16>
// CHECK: parplan.moe_combine %{{.*}}, %{{.*}} weights %[[WEIGHTS]]
parplan.initializer @w0 "w0" : tensor<8x8xbf16> in "" at 0 length 128
parplan.initializer @w1 "w1" : tensor<8x8xbf16> in "" at 128 length 128
func.func @rounded(%x: tensor<6x8xbf16>, %values: tensor<6x2xf32>, %choices: tensor<6x2xi64>) -> tensor<6x8xbf16> {
  %zero = parplan.constant dense<0> : tensor<i64>
  %one = parplan.constant dense<1> : tensor<i64>
  %c0 = parplan.compare eq %choices, %zero : tensor<6x2xi64>, tensor<i64>
  %f0 = parplan.cast %c0 : tensor<6x2xi1> to tensor<6x2xf32>
  %p0 = parplan.mul %values, %f0 : tensor<6x2xf32>, tensor<6x2xf32>
  %r0 = parplan.reduce sum %p0 dims [1] keep_dims : tensor<6x2xf32>
  %g0 = parplan.cast %r0 : tensor<6x1xf32> to tensor<6x1xbf16>
  %w0 = parplan.parameter @w0 : tensor<8x8xbf16>
  %h0 = parplan.matmul "mk,kn->mn" %x, %w0 : tensor<6x8xbf16>, tensor<8x8xbf16>
  %y0 = parplan.mul %g0, %h0 : tensor<6x1xbf16>, tensor<6x8xbf16>
  %c1 = parplan.compare eq %choices, %one : tensor<6x2xi64>, tensor<i64>
  %f1 = parplan.cast %c1 : tensor<6x2xi1> to tensor<6x2xf32>
  %p1 = parplan.mul %values, %f1 : tensor<6x2xf32>, tensor<6x2xf32>
  %r1 = parplan.reduce sum %p1 dims [1] keep_dims : tensor<6x2xf32>
  %g1 = parplan.cast %r1 : tensor<6x1xf32> to tensor<6x1xbf16>
  %w1 = parplan.parameter @w1 : tensor<8x8xbf16>
  %h1 = parplan.matmul "mk,kn->mn" %x, %w1 : tensor<6x8xbf16>, tensor<8x8xbf16>
  %y1 = parplan.mul %g1, %h1 : tensor<6x1xbf16>, tensor<6x8xbf16>
  %y = parplan.add %y0, %y1 : tensor<6x8xbf16>, tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

// An iota along another dimension numbers no experts, these are 0, 0: the comparison only weighs answers.
// CHECK-LABEL: func.func @zeros
// CHECK: %[[GATES:.*]] = parplan.cast %{{.*}} : tensor<6x2xi1> to tensor<6x2xf32>
// CHECK: parplan.moe_combine %{{.*}}, %{{.*}} weights %[[GATES]]
parplan.initializer @w0 "w0" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @w1 "w1" : tensor<8x8xf32> in "" at 256 length 256
func.func @zeros(%x: tensor<6x8xf32>, %choices: tensor<6x1xi64>) -> tensor<6x8xf32> {
  %column = parplan.iota 1 : tensor<2x1xi64>
  %row = parplan.reshape %column : tensor<2x1xi64> to tensor<2xi64>
  %all = parplan.compare eq %choices, %row : tensor<6x1xi64>, tensor<2xi64>
  %gates = parplan.cast %all : tensor<6x2xi1> to tensor<6x2xf32>
  %w0 = parplan.parameter @w0 : tensor<8x8xf32>
  %h0 = parplan.matmul "mk,kn->mn" %x, %w0 : tensor<6x8xf32>, tensor<8x8xf32>
  %g0 = parplan.slice %gates dims [1] from [0] to [1] step [1] : tensor<6x2xf32>
  %y0 = parplan.mul %g0, %h0 : tensor<6x1xf32>, tensor<6x8xf32>
  %w1 = parplan.parameter @w1 : tensor<8x8xf32>
  %h1 = parplan.matmul "mk,kn->mn" %x, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  %g1 = parplan.slice %gates dims [1] from [1] to [2] step [1] : tensor<6x2xf32>
  %y1 = parplan.mul %g1, %h1 : tensor<6x1xf32>, tensor<6x8xf32>
  %y = parplan.add %y0, %y1 : tensor<6x8xf32>, tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// No numbers from 0, and a logarithm, which is not finite at the zeros of other tokens.
// CHECK-LABEL: func.func @others
// CHECK-NOT: parplan.moe_combine
parplan.initializer @w0 "w0" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @w1 "w1" : tensor<8x8xf32> in "" at 256 length 256
parplan.initializer @v0 "v0" : tensor<8x8xf32> in "" at 512 length 256
parplan.initializer @v1 "v1" : tensor<8x8xf32> in "" at 768 length 256
func.func @others(%x: tensor<6x8xf32>, %gates: tensor<6x3xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>) {
  %g0 = parplan.slice %gates dims [1] from [0] to [1] step [1] : tensor<6x3xf32>
  %g1 = parplan.slice %gates dims [1] from [1] to [2] step [1] : tensor<6x3xf32>
  %g2 = parplan.slice %gates dims [1] from [2] to [3] step [1] : tensor<6x3xf32>
  %w0 = parplan.parameter @w0 : tensor<8x8xf32>
  %h0 = parplan.matmul "mk,kn->mn" %x, %w0 : tensor<6x8xf32>, tensor<8x8xf32>
  %y0 = parplan.mul %g1, %h0 : tensor<6x1xf32>, tensor<6x8xf32>
  %w1 = parplan.parameter @w1 : tensor<8x8xf32>
  %h1 = parplan.matmul "mk,kn->mn" %x, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  %y1 = parplan.mul %g2, %h1 : tensor<6x1xf32>, tensor<6x8xf32>
  // expected-warning@below {{experts stay a loop: they are not numbered from 0 on}}
  %y = parplan.add %y0, %y1 : tensor<6x8xf32>, tensor<6x8xf32>
  %v0 = parplan.parameter @v0 : tensor<8x8xf32>
  %i0 = parplan.matmul "mk,kn->mn" %x, %v0 : tensor<6x8xf32>, tensor<8x8xf32>
  // expected-warning@below {{experts stay a loop: this cannot be computed for all of them at once}}
  %l0 = parplan.log %i0 : tensor<6x8xf32>
  %z0 = parplan.mul %g0, %l0 : tensor<6x1xf32>, tensor<6x8xf32>
  %v1 = parplan.parameter @v1 : tensor<8x8xf32>
  %i1 = parplan.matmul "mk,kn->mn" %x, %v1 : tensor<6x8xf32>, tensor<8x8xf32>
  %l1 = parplan.log %i1 : tensor<6x8xf32>
  %z1 = parplan.mul %g1, %l1 : tensor<6x1xf32>, tensor<6x8xf32>
  %z = parplan.add %z0, %z1 : tensor<6x8xf32>, tensor<6x8xf32>
  return %y, %z : tensor<6x8xf32>, tensor<6x8xf32>
}

// -----

// Fewer choices than experts: products take the rows of tokens that an expert has, and so do biases.
// CHECK-LABEL: func.func @one_of_two
// CHECK: %[[VALUES:.*]], %[[INDICES:.*]] = parplan.topk
// CHECK: %[[ROWS:.*]] = parplan.moe_dispatch %{{.*}}, %[[INDICES]]
// CHECK: %[[H:.*]] = parplan.matmul "etk,ekn->etn" %[[ROWS]], %{{.*}} experts %[[INDICES]] : tensor<6x1xi64> of 2 tokens "t"
// CHECK: %[[ONES:.*]] = parplan.moe_dispatch %{{.*}}, %[[INDICES]] {{.*}} to tensor<2x6x1xf32>
// CHECK: %[[BIAS:.*]] = parplan.matmul "etk,ekn->etn" %[[ONES]], %{{.*}} experts %[[INDICES]] : tensor<6x1xi64> of 2 tokens "t" : tensor<2x6x1xf32>, tensor<2x1x8xf32>
// CHECK: %[[ANSWERS:.*]] = parplan.add %[[H]], %[[BIAS]]
// CHECK: parplan.moe_combine %[[ANSWERS]], %[[INDICES]] weights %[[VALUES]]
parplan.initializer @w0 "w0" : tensor<8x8xf32> in "" at 0 length 256
parplan.initializer @w1 "w1" : tensor<8x8xf32> in "" at 256 length 256
parplan.initializer @b0 "b0" : tensor<8xf32> in "" at 512 length 32
parplan.initializer @b1 "b1" : tensor<8xf32> in "" at 544 length 32
func.func @one_of_two(%x: tensor<6x8xf32>, %scores: tensor<6x2xf32>) -> tensor<6x8xf32> {
  %values, %indices = parplan.topk %scores k 1 dim 1 largest true : tensor<6x2xf32>
  %zero = parplan.constant dense<0> : tensor<i64>
  %one = parplan.constant dense<1> : tensor<i64>
  %m0 = parplan.compare eq %indices, %zero : tensor<6x1xi64>, tensor<i64>
  %f0 = parplan.cast %m0 : tensor<6x1xi1> to tensor<6x1xf32>
  %p0 = parplan.mul %values, %f0 : tensor<6x1xf32>, tensor<6x1xf32>
  %g0 = parplan.reduce sum %p0 dims [1] keep_dims : tensor<6x1xf32>
  %w0 = parplan.parameter @w0 : tensor<8x8xf32>
  %h0 = parplan.matmul "mk,kn->mn" %x, %w0 : tensor<6x8xf32>, tensor<8x8xf32>
  %b0 = parplan.parameter @b0 : tensor<8xf32>
  %a0 = parplan.add %h0, %b0 : tensor<6x8xf32>, tensor<8xf32>
  %y0 = parplan.mul %g0, %a0 : tensor<6x1xf32>, tensor<6x8xf32>
  %m1 = parplan.compare eq %indices, %one : tensor<6x1xi64>, tensor<i64>
  %f1 = parplan.cast %m1 : tensor<6x1xi1> to tensor<6x1xf32>
  %p1 = parplan.mul %values, %f1 : tensor<6x1xf32>, tensor<6x1xf32>
  %g1 = parplan.reduce sum %p1 dims [1] keep_dims : tensor<6x1xf32>
  %w1 = parplan.parameter @w1 : tensor<8x8xf32>
  %h1 = parplan.matmul "mk,kn->mn" %x, %w1 : tensor<6x8xf32>, tensor<8x8xf32>
  %b1 = parplan.parameter @b1 : tensor<8xf32>
  %a1 = parplan.add %h1, %b1 : tensor<6x8xf32>, tensor<8xf32>
  %y1 = parplan.mul %g1, %a1 : tensor<6x1xf32>, tensor<6x8xf32>
  %y = parplan.add %y0, %y1 : tensor<6x8xf32>, tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
